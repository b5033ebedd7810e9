/** Views that look past a filter of MikroORM, and views that put one on. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest, InjectOptions } from 'fastify';
import t from 'tap';
import {
  action,
  ModelViewSet,
  nested,
  Permission,
  type PermissionView,
  QuerySet,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { testApp } from '../../support/library.ts';

const PageSchema = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    owner: p.string().default('ada'),
    deleted_at: p.datetime().nullable(),
  },
  filters: {
    alive: { name: 'alive', cond: { deleted_at: null }, default: true },
    dead: { name: 'dead', cond: { deleted_at: { $ne: null } }, default: false },
  },
});
class Page extends PageSchema.class {}
PageSchema.setClass(Page);

/** Has the same columns, and no filter that is on by default: its records are written by one statement. */
const LeafSchema = defineEntity({
  name: 'Leaf',
  properties: { id: p.integer().primary(), title: p.string(), is_dry: p.boolean().default(false) },
  filters: {
    dry: { name: 'dry', cond: { is_dry: true }, default: false },
    titled: { name: 'titled', cond: ({ title }: { title: string }) => ({ title }), default: false },
  },
});
class Leaf extends LeafSchema.class {}
LeafSchema.setClass(Leaf);

const TwigSchema = defineEntity({
  name: 'Twig',
  properties: {
    id: p.integer().primary(),
    leaf: () => p.manyToOne(Leaf).nullable(),
    leaves: () => p.manyToMany(Leaf),
    page: () => p.manyToOne(Page).nullable(),
    buds: () => p.oneToMany(Bud).mappedBy('twig'),
  },
});
class Twig extends TwigSchema.class {}
TwigSchema.setClass(Twig);

const BudSchema = defineEntity({
  name: 'Bud',
  properties: {
    id: p.integer().primary(),
    is_dry: p.boolean().default(false),
    twig: () => p.manyToOne(Twig),
    leaf: () => p.manyToOne(Leaf).nullable(),
  },
  filters: {
    dry: { name: 'dry', cond: { is_dry: true }, default: false },
  },
});
class Bud extends BudSchema.class {}
BudSchema.setClass(Bud);

class IsOwner extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<Page>(view, { owner: 'ada' });
  }
}

const read = readShape(Page, ['id', 'title']);
const write = writeShape(Page, ['title']);
class PageViewSet extends ModelViewSet(Page, { read, write }) {
  override async performDestroy(request: FastifyRequest, page: Page): Promise<void> {
    page.deleted_at = new Date();
    await request.em.flush();
  }
}
class TrashViewSet extends ModelViewSet(Page, { read, write, permissionClasses: [IsOwner], bulk: 5 }) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).withFilters({ alive: false, dead: true });
  }
  restore = action({ detail: true, methods: ['post'], response: read.schema }, async (request) => {
    const page = await this.getObject(request);
    page.deleted_at = null;
    return this.represent(page);
  });
}
class DryLeafViewSet extends ModelViewSet(Leaf, {
  read: readShape(Leaf, ['id', 'title']),
  write: writeShape(Leaf, ['title']),
  operations: ['list', 'update', 'destroy'],
  bulk: 5,
}) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).withFilters({ dry: true });
  }
}

const twigs = {
  read: readShape(Twig, ['id']),
  write: writeShape(Twig, ['leaf', 'leaves', 'page'], {
    buds: nested(writeShape(Bud, ['leaf', 'is_dry']), { update: true }),
  }),
};
class TwigViewSet extends ModelViewSet(Twig, twigs) {}
class DryTwigViewSet extends ModelViewSet(Twig, { ...twigs, bulk: 5 }) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).withFilters({ dry: true, alive: false });
  }
}
class TitledTwigViewSet extends ModelViewSet(Twig, twigs) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).withFilters({ titled: { title: request.headers['x-title'] } });
  }
}
class PastTwigViewSet extends ModelViewSet(Twig, { ...twigs, referenceViews: { page: TrashViewSet } }) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).withFilters(false);
  }
}

forEachDatabase(t, { entities: [Page, Leaf, Twig, Bud] }, async (t, orm) => {
  const em = orm.em.fork();
  for (const title of ['One', 'Two', 'Three']) em.create(Page, { title });
  em.create(Page, { title: 'Another’s', owner: 'bob', deleted_at: new Date() });
  for (const is_dry of [false, true]) em.create(Leaf, { title: String(is_dry), is_dry });
  await em.flush();
  const router = new Router()
    .register('pages', PageViewSet)
    .register('trash', TrashViewSet)
    .register('leaves', DryLeafViewSet)
    .register('twigs', TwigViewSet)
    .register('dry-twigs', DryTwigViewSet)
    .register('titled-twigs', TitledTwigViewSet)
    .register('past-twigs', PastTwigViewSet);
  const app = await testApp(t, orm, [router]);
  const send = async (method: NonNullable<InjectOptions['method']>, url: string, payload?: object) => {
    const response = await app.inject({ method, url, ...(payload && { payload }) });
    return [response.statusCode, response.body === '' ? undefined : response.json().title] as const;
  };
  const titles = async (url: string) =>
    (await app.inject(url)).json<{ results: Page[] }>().results.map(({ title }) => title);
  const [one, two] = await em.find(Page, {}, { orderBy: { id: 1 } });

  t.test('a deleted record is only in the trash until it is restored', async (t) => {
    t.strictSame(await send('DELETE', `/pages/${one!.id}`), [204, undefined]);
    t.strictSame(await titles('/pages'), ['Two', 'Three']);
    t.strictSame(await titles('/trash'), ['One'], 'the scope holds there too');
    t.strictSame((await send('GET', `/pages/${one!.id}`))[0], 404);
    t.strictSame(await send('GET', `/trash/${one!.id}`), [200, 'One']);
    t.strictSame((await send('GET', `/trash/${two!.id}`))[0], 404);
    t.strictSame((await send('POST', `/trash/${two!.id}/restore`))[0], 404);
    t.strictSame(await send('PATCH', `/trash/${one!.id}`, { title: 'First' }), [200, 'First'], 'it is written there');
    t.strictSame(await send('POST', `/trash/${one!.id}/restore`), [200, 'First']);
    t.strictSame(await titles('/trash'), []);
    t.strictSame(await titles('/pages'), ['First', 'Two', 'Three']);
  });

  t.test('a bulk write in the trash locks and reads records with the same filter', async (t) => {
    for (const { id } of [one!, two!]) await send('DELETE', `/pages/${id}`);
    const payload = [
      { id: two!.id, title: 'Second' },
      { id: one!.id, title: 'Uno' },
    ];
    const selects = recordQueries(orm);
    const changed = await app.inject({ method: 'PATCH', url: '/trash', payload });
    selects.stop();
    t.equal(changed.statusCode, 200, changed.body);
    t.strictSame(changed.json(), payload);
    const locking = selects.texts.filter((sql) => sql.includes('for update'));
    for (const sql of locking) t.notMatch(sql, /"deleted_at" is null/);
    await send('POST', `/trash/${one!.id}/restore`);
    t.equal((await app.inject({ method: 'DELETE', url: `/trash?pk=${two!.id},${one!.id}` })).statusCode, 404);
    t.equal((await app.inject({ method: 'PATCH', url: '/pages', payload: [] })).statusCode, 405);
    await send('POST', `/trash/${two!.id}/restore`);
    t.strictSame(await titles('/pages'), ['Uno', 'Second', 'Three']);
  });

  t.test('a record that is destroyed in the trash is deleted', async (t) => {
    await send('DELETE', `/pages/${two!.id}`);
    t.strictSame(await send('DELETE', `/trash/${two!.id}`), [204, undefined]);
    t.equal(await orm.em.fork().count(Page, { id: two!.id }, { filters: false }), 0);
  });

  t.test('a filter that a view puts on holds for writes too', async (t) => {
    t.strictSame(await titles('/leaves'), ['true']);
    t.strictSame((await send('PATCH', '/leaves/1', { title: 'x' }))[0], 404);
    t.strictSame((await send('DELETE', '/leaves/1'))[0], 404);
    t.equal((await app.inject({ method: 'PATCH', url: '/leaves', payload: [{ id: 1, title: 'x' }] })).statusCode, 404);
    t.equal((await app.inject({ method: 'DELETE', url: '/leaves?pk=2,1' })).statusCode, 404);
    t.strictSame(await send('PATCH', '/leaves/2', { title: 'y' }), [200, 'y']);
    t.strictSame((await send('DELETE', '/leaves/2'))[0], 204);
    t.equal(await orm.em.fork().count(Leaf), 1);
  });

  t.test('query sets name filters as em.find does', async (t) => {
    const pages = QuerySet.of(orm.em.fork(), Page);
    t.equal(await pages.count(), 2);
    t.equal(await pages.withFilters(false).count(), 3);
    t.equal(await pages.withFilters({ alive: false }).filter({ owner: 'bob' }).count(), 1);
    t.equal(await pages.withFilters({ alive: false }).withFilters({}).count(), 2, 'the last call counts');
    t.strictSame((await pages.withFilters({ alive: false, dead: true }).entities()).length, 1);
    t.same(pages.withFilters({ alive: false }).filters, { alive: false });
    t.equal(pages.filters, undefined);
  });

  t.test('a body refers to no record that the filters of its view hide', async (t) => {
    const em = orm.em.fork();
    const [fresh, dry] = [em.create(Leaf, { title: 'fresh' }), em.create(Leaf, { title: 'dry', is_dry: true })];
    const dead = em.create(Page, { title: 'dead', deleted_at: new Date() });
    await em.flush();
    const write = async (method: 'POST' | 'PATCH', url: string, payload: object, title = 'dry') => {
      const answer = await app.inject({ method, url, payload, headers: { 'x-title': title } });
      const { id, details } = answer.json<{ id?: number; details?: { path: string }[] }>();
      return [answer.statusCode, details?.map(({ path }) => path) ?? id] as const;
    };
    const [, known] = await write('POST', '/twigs', { leaf: fresh.id, leaves: [fresh.id], buds: [{ leaf: fresh.id }] });
    const hidden = { leaf: fresh.id, leaves: [dry.id, fresh.id], buds: [{ leaf: fresh.id }] };
    const shown = { leaf: dry.id, leaves: [dry.id], buds: [{ leaf: dry.id, is_dry: true }] };
    const places = ['/leaf', '/leaves/1', '/buds/0/leaf'];
    for (const url of ['/dry-twigs', '/titled-twigs']) {
      t.strictSame(await write('POST', url, hidden), [400, places], url);
      t.equal((await write('POST', url, shown))[0], 201, url);
      t.strictSame(await write('PATCH', `${url}/${String(known)}`, hidden), [400, places], url);
    }
    t.strictSame(await write('POST', '/dry-twigs', [shown, hidden]), [400, places.map((place) => `/1${place}`)]);
    t.equal((await write('POST', '/titled-twigs', { leaf: fresh.id }, 'fresh'))[0], 201);
    t.strictSame(await write('POST', '/titled-twigs', { leaf: dry.id }, 'fresh'), [400, ['/leaf']]);

    // A filter that the view puts out stays on here: a view of the records has to be named that looks past it.
    t.strictSame(await write('POST', '/dry-twigs', { page: dead.id }), [400, ['/page']]);
    t.equal((await write('POST', '/past-twigs', { page: dead.id, leaf: fresh.id }))[0], 201);
  });

  t.test('it does not change or delete hidden children or hidden references of a set', async (t) => {
    const em = orm.em.fork();
    const [fresh, dry] = [em.create(Leaf, { title: 'fresh' }), em.create(Leaf, { title: 'dry', is_dry: true })];
    const twig = em.create(Twig, { leaves: [fresh, dry] });
    const [bud, dryBud] = [em.create(Bud, { twig }), em.create(Bud, { twig, is_dry: true })];
    await em.flush();
    const url = `/dry-twigs/${twig.id}`;
    const named = await app.inject({ method: 'PATCH', url, payload: { buds: [{ id: bud.id }] } });
    t.match([named.statusCode, named.json()], [400, { details: [{ path: '/buds/0/id' }] }]);
    const emptied = await app.inject({ method: 'PATCH', url, payload: { buds: [], leaves: [] } });
    t.equal(emptied.statusCode, 200, emptied.body);
    const left = await orm.em.fork().findOneOrFail(Twig, twig.id, { populate: ['buds', 'leaves'] });
    t.strictSame(left.buds.getIdentifiers(), [bud.id]);
    t.strictSame(left.leaves.getIdentifiers(), [fresh.id]);
    t.equal(await orm.em.fork().count(Bud, dryBud.id), 0);
  });
});
