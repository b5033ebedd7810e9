import { randomBytes } from 'node:crypto';
import {
  action,
  count,
  exists,
  type InputOf,
  IsAuthenticated,
  IsOwner,
  LimitOffsetPagination,
  many,
  ModelViewSet,
  readShape,
  refs,
  type WriteData,
  writeShape,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Article, Favorite } from './entities.ts';
import { profile } from './profile.ts';
import { tie } from './tie.ts';

const all = readShape(Article, ['slug', 'title', 'description', 'body', 'createdAt', 'updatedAt'], {
  tagList: many('tagList.name', { orderBy: 'name' }),
  favorited: exists('favorites', ({ user }) => user && { user: user.id }),
  favoritesCount: count('favorites'),
  author: profile,
});
const names = ['title', 'description', 'body'] as const;
const tags = { tagList: refs('tagList.name', { create: true }) } as const;
const create = writeShape(Article, names, tags, { optional: ['tagList'] });
const update = writeShape(Article, names, tags, { optional: [...names, 'tagList'] });

const slugOf = (title: string) =>
  `${title.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-')}-${randomBytes(4).toString('hex')}`;

export class ArticleViewSet extends ModelViewSet(Article, {
  read: { list: all.omit(['body']), default: all },
  write: { create, update },
  lookupField: 'slug',
  filterFields: { tag: 'tagList__name', author: 'author__username', favorited: 'favorites__user__username' },
  ordering: ['-createdAt', '-id'],
  pagination: LimitOffsetPagination,
  pageSize: 20,
  envelope: { one: 'article', many: 'articles', count: 'articlesCount' },
  allowAnonymous: true,
  permissionClasses: [IsOwner('author')],
}) {
  override performCreate(request: FastifyRequest, data: WriteData<Article, InputOf<typeof create>>) {
    return super.performCreate(request, { ...data, slug: slugOf(data.title) });
  }

  /** The articles of the authors that the user follows. */
  feed = action({ answers: 'page', permissionClasses: [IsAuthenticated] }, (request, reply) =>
    this.paginate(request, this.getQueryset(request).filter({ author__followers__follower: request.user.id }), reply),
  );

  favorite = action(
    { answers: 'record', methods: ['post', 'delete'], detail: true, permissionClasses: [IsAuthenticated] },
    async (request, reply) => {
      const article = await this.getObject(request);
      await tie(request, Favorite, { article, user: request.user.id });
      return this.retrieve(request, reply);
    },
  );
}
