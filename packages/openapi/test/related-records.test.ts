import { defineEntity, p } from '@mikro-orm/core';
import { many, ModelViewSet, readShape, Router } from '@viewset/core';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { documentOf, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

const Author = defineEntity({
  name: 'Author',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    novels: () => p.oneToMany(Novel).mappedBy('author'),
  },
});

const Genre = defineEntity({
  name: 'Genre',
  properties: { id: p.integer().primary(), name: p.string().nullable() },
});

const Novel = defineEntity({
  name: 'Novel',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    author: () => p.manyToOne(Author),
    genres: () => p.manyToMany(Genre),
  },
});

const novel = readShape(Novel, ['id', 'title'], { genres: many('genres.name') });

class NovelViewSet extends ModelViewSet(Novel, { read: novel }) {}
class AuthorViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['id'], {
    novels: many(novel),
    newest: many(readShape(Novel, ['title']), { from: 'novels', orderBy: '-id', limit: 3 }),
  }),
}) {}

forEachDatabase(t, { entities: [Author, Genre, Novel], only: ['sqlite'] }, async (t, orm) => {
  t.test('related records are arrays of the component of their view if the schemas are equal', async (t) => {
    const router = new Router().register('novels', NovelViewSet).register('authors', AuthorViewSet);
    const app = await startApp(t, orm, async (made) => {
      await made.register(router.plugin);
    });
    const document = await documentOf(app);
    await isValidDocument(t, document);
    const { schemas } = document.components as { schemas: Record<string, { properties: object }> };
    t.strictSame(schemas['Novel']?.properties, {
      id: { type: 'integer' },
      title: { type: 'string' },
      genres: { type: 'array', items: { type: ['string', 'null'] } },
    });
    t.strictSame(schemas['Author']?.properties, {
      id: { type: 'integer' },
      novels: { type: 'array', items: { $ref: '#/components/schemas/Novel' } },
      newest: { type: 'array', items: { $ref: '#/components/schemas/AuthorNewest' }, maxItems: 3 },
    });
  });
});
