import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { Tag } from './entities.ts';

const schema = {
  operationId: 'listTags',
  tags: ['tags'],
  summary: 'List tags',
  description: 'The names of all tags, in order.',
  response: { 200: Type.Object({ tags: Type.Array(Type.String()) }) },
};

/** `GET /tags` is a list of names, not of records. */
export async function tagRoutes(app: FastifyInstance): Promise<void> {
  app.get('/api/tags', { config: { public: true }, schema }, async ({ em }) => {
    const tags = await em.findAll(Tag, { orderBy: { name: 'asc' } });
    return { tags: tags.map(({ name }) => name) };
  });
}
