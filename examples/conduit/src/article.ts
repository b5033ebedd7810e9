import { randomBytes } from 'node:crypto';
import {
  action,
  count,
  exists,
  type InputOf,
  IsAuthenticated,
  IsSafeMethodOnly,
  LimitOffsetPagination,
  many,
  ModelViewSet,
  readShape,
  refs,
  requireUser,
  type WriteData,
  writeShape,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Article } from './entities.ts';
import { profile } from './profile.ts';
import { me } from './user.ts';

const names = ['slug', 'title', 'description', 'createdAt', 'updatedAt'] as const;
const fields = {
  tagList: many('tagList.name', { orderBy: 'name' }),
  favorited: exists('favoritedBy', me),
  favoritesCount: count('favoritedBy'),
  author: profile,
} as const;
const brief = readShape(Article, names, fields);
const whole = readShape(Article, [...names, 'body'], fields);
const create = writeShape(Article, ['title', 'description', 'body'], { tagList: refs('tagList.name', { create: true }) });

const slugOf = (title: string) =>
  `${title.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-')}-${randomBytes(4).toString('hex')}`;

export class ArticleViewSet extends ModelViewSet(Article, {
  read: { list: brief, default: whole },
  write: create,
  lookupField: 'slug',
  filterFields: { tag: 'tagList__name', author: 'author__username', favorited: 'favoritedBy__username' },
  ordering: ['-createdAt', '-id'],
  pagination: LimitOffsetPagination,
  pageSize: 20,
  envelope: { one: 'article', many: 'articles', count: 'articlesCount' },
  allowAnonymous: true,
  permissionClasses: [IsSafeMethodOnly.or(IsOwner('author'))],
}) {
  override performCreate(request: FastifyRequest, data: WriteData<Article, InputOf<typeof create>>) {
    return super.performCreate(request, { ...data, slug: slugOf(data.title) });
  }

  /** The articles of those whom the user follows. */
  feed = action({ permissionClasses: [IsAuthenticated] }, (request, reply) =>
    this.paginate(request, this.getQueryset(request).filter({ author__followers: request.user.id }), reply),
  );

  favorite = action(
    {
      methods: ['post', 'delete'],
      detail: true,
      permissionClasses: [IsAuthenticated],
      response: Type.Object({ article: whole.schema }),
    },
    async (request) => {
      const article = await this.getObject(request);
      return { article: await this.retrieve(request) };
    },
  );
}
