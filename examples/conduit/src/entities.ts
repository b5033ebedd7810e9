import { defineEntity, p } from '@mikro-orm/core';

const now = () => new Date();

const RoleSchema = defineEntity({
  name: 'Role',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
/** The role that `@viewset/auth` requires of accounts. Conduit assigns no roles. */
export class Role extends RoleSchema.class {}
RoleSchema.setClass(Role);

const UserSchema = defineEntity({
  name: 'User',
  properties: {
    id: p.integer().primary(),
    username: p.string().length(50).unique(),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    bio: p.text().nullable(),
    image: p.string().length(500).nullable(),
    role: () => p.manyToOne(Role).nullable(),
    isActive: p.boolean().default(true),
    lastLogin: p.datetime(3).nullable(),
    followers: () => p.oneToMany(Follow).mappedBy('followed'),
  },
});
export class User extends UserSchema.class {}
UserSchema.setClass(User);

const FollowSchema = defineEntity({
  name: 'Follow',
  properties: {
    id: p.integer().primary(),
    followed: () => p.manyToOne(User).deleteRule('cascade'),
    follower: () => p.manyToOne(User).index().deleteRule('cascade'),
  },
  uniques: [{ properties: ['followed', 'follower'] }],
});
export class Follow extends FollowSchema.class {}
FollowSchema.setClass(Follow);

const TagSchema = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
export class Tag extends TagSchema.class {}
TagSchema.setClass(Tag);

const ArticleSchema = defineEntity({
  name: 'Article',
  properties: {
    id: p.integer().primary(),
    slug: p.string().length(255).unique(),
    title: p.string().length(200),
    description: p.string().length(500),
    body: p.text(),
    createdAt: p.datetime(3).onCreate(now).index(),
    updatedAt: p.datetime(3).onCreate(now).onUpdate(now),
    author: () => p.manyToOne(User).index().deleteRule('cascade'),
    tagList: () => p.manyToMany(Tag),
    favorites: () => p.oneToMany(Favorite).mappedBy('article'),
    comments: () => p.oneToMany(Comment).mappedBy('article'),
  },
});
export class Article extends ArticleSchema.class {}
ArticleSchema.setClass(Article);

const FavoriteSchema = defineEntity({
  name: 'Favorite',
  properties: {
    id: p.integer().primary(),
    article: () => p.manyToOne(Article).deleteRule('cascade'),
    user: () => p.manyToOne(User).index().deleteRule('cascade'),
  },
  uniques: [{ properties: ['article', 'user'] }],
});
export class Favorite extends FavoriteSchema.class {}
FavoriteSchema.setClass(Favorite);

const CommentSchema = defineEntity({
  name: 'Comment',
  properties: {
    id: p.integer().primary(),
    body: p.text(),
    createdAt: p.datetime(3).onCreate(now),
    updatedAt: p.datetime(3).onCreate(now).onUpdate(now),
    article: () => p.manyToOne(Article).index().deleteRule('cascade'),
    author: () => p.manyToOne(User).index().deleteRule('cascade'),
  },
});
export class Comment extends CommentSchema.class {}
CommentSchema.setClass(Comment);

export const ENTITIES = [Role, User, Follow, Tag, Article, Favorite, Comment];
