import { ViewSet } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Tag } from './entities.ts';

/** `GET /tags` is a list of names, not of records. */
export class TagViewSet extends ViewSet {
  override allowAnonymous = true;
  override responses = { list: Type.Object({ tags: Type.Array(Type.String()) }) };

  override async list({ em }: FastifyRequest) {
    const tags = await em.findAll(Tag, { orderBy: { name: 'asc' } });
    return { tags: tags.map(({ name }) => name) };
  }
}
