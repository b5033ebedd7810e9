/** A search beside soft delete, nested routes, filters of MikroORM, bulk writes, and overrides of the view. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import {
  AllowAny,
  CursorPagination,
  DEFAULT_FILTERS,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  SearchFilter,
  viewset,
  writeShape,
} from '@viewset/core';
import fastify, { type FastifyInstance, type FastifyRequest, type LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { fullText, updateFullText } from '../src/index.ts';
import { GENERATOR } from './support/articles.ts';

const ShelfSchema = defineEntity({ name: 'Shelf', properties: { id: p.integer().primary(), name: p.string() } });
class Shelf extends ShelfSchema.class {}
ShelfSchema.setClass(Shelf);

const PaperSchema = defineEntity({
  name: 'Paper',
  filters: { shown: { name: 'shown', cond: { is_draft: false }, default: true } },
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    is_draft: p.boolean().default(false),
    deleted_at: p.datetime().nullable(),
    shelf: () => p.manyToOne(Shelf),
  },
});
class Paper extends PaperSchema.class {}
PaperSchema.setClass(Paper);

const search = fullText<Paper>(['title']);

class ShelfViewSet extends ModelViewSet(Shelf, { read: readShape(Shelf, ['id']) }) {}

class PaperViewSet extends ModelViewSet(Paper, {
  read: readShape(Paper, ['id', 'title']),
  write: writeShape(Paper, ['title', 'is_draft', 'shelf']),
  searchFields: fullText(['title']),
  softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
  bulk: { create: 10 },
}) {}

/** Makes its records of entities. */
class LoudViewSet extends ModelViewSet(Paper, {
  read: readShape(Paper, ['id', 'title']),
  searchFields: search,
  pagination: CursorPagination,
}) {
  override represent(paper: Paper) {
    return { ...super.represent(paper), title: paper.title.toUpperCase() };
  }
}

class OnShelfTwo extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<Paper>(view, { shelf__name: 'two' });
  }
}

class Leaves extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<Paper>(view, { title: 'oak leaf' });
  }
}

class SeenViewSet extends ModelViewSet(Paper, {
  read: readShape(Paper, ['id', 'title']),
  searchFields: search,
  permissionClasses: [OnShelfTwo.or(Leaves)],
}) {}

class UnseenViewSet extends ModelViewSet(Paper, {
  read: readShape(Paper, ['id', 'title']),
  searchFields: search,
  permissionClasses: [OnShelfTwo.not()],
}) {}

class Find extends SearchFilter {
  override readonly parameter = 'q';
  override readonly maximumWords = 2;
}

class FindViewSet extends ModelViewSet(Paper, {
  read: readShape(Paper, ['id']),
  searchFields: search,
  filters: [Find, ...DEFAULT_FILTERS.slice(1)],
  pagination: null,
}) {}

async function open(t: Test, orm: MikroORM): Promise<FastifyInstance> {
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(viewset, { orm, secret: 'a secret of more than thirty-two bytes' });
  const router = new Router()
    .register('shelves', ShelfViewSet)
    .register('papers', PaperViewSet)
    .register('shelves/:shelf/papers', PaperViewSet)
    .register('loud', LoudViewSet)
    .register('find', FindViewSet)
    .register('seen', SeenViewSet)
    .register('unseen', UnseenViewSet);
  await app.register(router.plugin);
  await app.ready();
  return app;
}

interface Listed {
  readonly results: readonly { readonly id: number; readonly title: string }[];
  readonly next_cursor?: string | null;
}

forEachDatabase(t, { entities: [Shelf, Paper], orm: GENERATOR, onLibSql: true }, async (t, orm, database) => {
  await updateFullText(orm, Paper, search);
  const em = orm.em.fork();
  const shelves = ['one', 'two'].map((name) => em.create(Shelf, { name }));
  await em.flush();
  const app = await open(t, orm);
  const titles = async (url: string): Promise<string[]> => {
    const answer = await app.inject(url);
    if (answer.statusCode !== 200) throw new Error(answer.body);
    return answer.json<Listed>().results.map(({ title }) => title);
  };
  const [one, two] = shelves.map(({ id }) => id);
  const made = await app.inject({
    method: 'POST',
    url: '/papers',
    payload: [
      { title: 'oak tree', shelf: one },
      { title: 'oak', shelf: two },
      { title: 'oak draft', shelf: one, is_draft: true },
      { title: 'oak leaf', shelf: one },
    ],
  });
  t.equal(made.statusCode, 201, made.body);

  t.test('records that a filter of MikroORM hides are not found', async (t) => {
    t.same((await titles('/papers?search=oak')).toSorted(), ['oak', 'oak leaf', 'oak tree']);
    t.same(await titles('/papers?search=draft'), []);
  });

  t.test('a search below a parent finds only records of the parent', async (t) => {
    t.same((await titles(`/shelves/${one}/papers?search=oak`)).toSorted(), ['oak leaf', 'oak tree']);
    t.same(await titles(`/shelves/${two}/papers?search=leaf`), []);
  });

  t.test('scopes through relations narrow a search, also joined by or and negated', async (t) => {
    t.same((await titles('/seen?search=oak')).toSorted(), ['oak', 'oak leaf']);
    t.same(await titles('/seen?search=tree'), []);
    t.same((await titles('/unseen?search=oak')).toSorted(), ['oak leaf', 'oak tree']);
  });

  t.test('records that are made of entities have a rank too', async (t) => {
    const shown: string[] = [];
    let cursor: string | null | undefined = '';
    for (let page = 0; page < 5 && typeof cursor === 'string'; page++) {
      const answer: LightMyRequestResponse = await app.inject({
        url: '/loud',
        query: { search: 'oak', page_size: '1', ...(cursor !== '' && { cursor }) },
      });
      const listed: Listed = answer.json();
      shown.push(...listed.results.map(({ title }) => title));
      cursor = listed.next_cursor;
    }
    t.same(shown.toSorted(), ['OAK', 'OAK LEAF', 'OAK TREE']);
  });

  t.test('a filter with other names and limits runs the same search', async (t) => {
    t.equal((await app.inject('/find?q=oak')).json<unknown[]>().length, 3);
    t.match((await app.inject('/find?q=a+b+c')).json(), { error: /"q" must not have more than 2 words/ });
    t.equal((await app.inject('/find?search=oak')).statusCode, 400);
    const list = app.viewset.operations.find(({ path, action }) => path.startsWith('/find') && action === 'list');
    t.match(list?.queryParameters, [
      { name: 'q', schema: { description: /at most 2, each of which must be found in title/ } },
    ]);
  });

  t.test('a deleted record is found only among deleted records', async (t) => {
    const { results } = (await app.inject('/papers?search=leaf')).json<Listed>();
    t.equal((await app.inject({ method: 'DELETE', url: `/papers/${results[0]!.id}` })).statusCode, 204);
    t.same(await titles('/papers?search=leaf'), []);
    t.same(await titles('/papers/deleted?search=oak'), ['oak leaf']);
  });

  t.test('upserts and deletes past the views are seen, and with recursive triggers REPLACE too', async (t) => {
    const [shelf] = shelves;
    await orm.em.fork().upsert(Paper, { id: 900, title: 'yak', is_draft: false, shelf: one! });
    await orm.em.fork().upsert(Paper, { id: 900, title: 'zebu', is_draft: false, shelf: one! });
    t.same([await titles('/papers?search=yak'), await titles('/papers?search=zebu')], [[], ['zebu']]);
    const rolledBack = orm.em.fork().transactional(async (inner) => {
      await inner.nativeDelete(Paper, { id: 900 });
      throw new Error('no');
    });
    await t.rejects(rolledBack, { message: 'no' });
    t.same(await titles('/papers?search=zebu'), ['zebu']);
    if (database === 'sqlite') {
      const connection = orm.em.getConnection();
      await connection.execute('pragma recursive_triggers = on');
      await connection.execute(
        `insert or replace into "paper" ("id", "title", "is_draft", "shelf_id") values (900, 'gnu', 0, ${shelf?.id})`,
      );
      t.same([await titles('/papers?search=zebu'), await titles('/papers?search=gnu')], [[], ['gnu']]);
    }
    await orm.em.fork().nativeDelete(Paper, { id: 900 });
    t.same([await titles('/papers?search=zebu'), await titles('/papers?search=gnu')], [[], []]);
  });
});
