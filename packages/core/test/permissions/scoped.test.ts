import { defineEntity, type EntityName, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  action,
  AllowAny,
  Filter,
  getCurrentUser,
  IsAuthenticated,
  IsRoleAdminUser,
  ModelViewSet,
  type PermissionClass,
  QuerySet,
  readShape,
  Router,
  scoped,
  ViewSet,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase, SQL_DATABASES } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Owned = defineEntity({
  name: 'Owned',
  abstract: true,
  properties: { id: p.integer().primary(), owner: p.string().length(20) },
});
const Shelf = defineEntity({
  name: 'Shelf',
  extends: Owned,
  properties: { name: p.string().length(20) },
  filters: { owner: { name: 'owner', cond: ({ name }: { name: string }) => ({ owner: name }), default: false } },
});
const Box = defineEntity({
  name: 'Box',
  extends: Owned,
  properties: { name: p.string().length(20), shelf: () => p.manyToOne(Shelf).nullable() },
});
type ShelfRecord = InferEntity<typeof Shelf>;

const nameOf = (request: FastifyRequest): string => getCurrentUser(request)?.role?.name ?? '';
const UserShelves = scoped(Shelf, (request) => ({ owner: nameOf(request) }));
const BoxesOfUserShelves = scoped(Box, async (request) => ({ shelf__owner: nameOf(request) }));
const Own = scoped(Owned, (request) => ({ owner: nameOf(request) }));
const read = readShape(Shelf, ['id', 'name']);
const write = writeShape(Shelf, ['name', 'owner']);
const readBox = readShape(Box, ['id', 'name']);

forEachDatabase(t, { entities: [Shelf, Box] }, async (t, orm) => {
  await orm.em.fork().insertMany(Shelf, [
    { id: 1, owner: 'ada', name: 'A' },
    { id: 2, owner: 'bob', name: 'B' },
  ]);
  await orm.em.fork().insertMany(Box, [
    { id: 1, owner: 'bob', name: 'on A', shelf: 1 },
    { id: 2, owner: 'ada', name: 'on B', shelf: 2 },
    { id: 3, owner: 'ada', name: 'on none', shelf: null },
  ]);

  const shelvesFor = (...permissionClasses: PermissionClass[]) => {
    class ShelfViewSet extends ModelViewSet(Shelf, { read, write, permissionClasses }) {}
    return new Router().register('shelves', ShelfViewSet);
  };
  const boxesFor = (...permissionClasses: PermissionClass[]) => {
    class BoxViewSet extends ModelViewSet(Box, { read: readBox, permissionClasses }) {}
    return new Router().register('boxes', BoxViewSet);
  };
  const namesAt = async (app: Awaited<ReturnType<typeof testApp>>, url: string, user: string) => {
    const { results } = (await app.inject({ url, headers: { 'x-user': user } })).json<{
      results: { name: string }[];
    }>();
    return results.map(({ name }) => name);
  };

  t.test('every operation of a view is limited to the records of its scope', async (t) => {
    const app = await testApp(t, orm, [shelvesFor(UserShelves)]);
    const headers = { 'x-user': 'ada' };
    t.same(await namesAt(app, '/shelves', 'ada'), ['A']);
    t.same(await namesAt(app, '/shelves', 'bob'), ['B']);
    t.equal((await app.inject({ url: '/shelves/1', headers })).statusCode, 200);
    t.equal((await app.inject({ url: '/shelves/2', headers })).statusCode, 404);
    t.equal((await app.inject({ method: 'PATCH', url: '/shelves/2', headers, payload: {} })).statusCode, 404);
    t.equal((await app.inject({ method: 'DELETE', url: '/shelves/2', headers })).statusCode, 404);
    const given = await app.inject({ method: 'PATCH', url: '/shelves/1', headers, payload: { owner: 'bob' } });
    t.equal(given.statusCode, 403, 'nobody gives a record away');
  });

  t.test('the lookups may be a promise, and may use relations', async (t) => {
    const app = await testApp(t, orm, [boxesFor(BoxesOfUserShelves)]);
    t.same(await namesAt(app, '/boxes', 'ada'), ['on A']);
    t.same(await namesAt(app, '/boxes', 'eve'), []);
  });

  t.test('a scope can be combined with other permission classes', async (t) => {
    const app = await testApp(t, orm, [shelvesFor(IsAuthenticated, IsRoleAdminUser.or(UserShelves))]);
    t.equal((await app.inject('/shelves')).statusCode, 401);
    t.same(await namesAt(app, '/shelves', 'admin'), ['A', 'B']);
    t.same(await namesAt(app, '/shelves', 'bob'), ['B']);
    const others = await testApp(t, orm, [shelvesFor(UserShelves.not())]);
    t.same(await namesAt(others, '/shelves', 'bob'), ['A']);
  });

  t.test('the scope and the path still apply if a filter returns a new query set', async (t) => {
    /** Ignores what it is given, as a search of an index does. */
    class IndexFilter extends Filter {
      readonly parameters = [];
      apply<E extends object>({ em, meta }: QuerySet<E>): QuerySet<E> {
        return QuerySet.of(em, meta.class as EntityName<E>).filter({ id__in: [1, 2, 3] } as never);
      }
    }
    class IndexedViewSet extends ModelViewSet(Box, {
      read: readBox,
      permissionClasses: [Own],
      filters: [IndexFilter],
      exports: ['ndjson'],
    }) {
      paged = action({}, (request) => this.paginate(request, QuerySet.of(request.em, Box)));
      listed = action({}, (request) => this.rows(QuerySet.of(request.em, Box).orderBy('-id').slice(0, 9), request));
      every = action({ scope: 'unrestricted', permissionClasses: [AllowAny] }, (request) =>
        this.rows(QuerySet.of(request.em, Box), request),
      );
    }
    class OverriddenViewSet extends ModelViewSet(Box, { read: readBox, permissionClasses: [Own], pagination: null }) {
      override async filterQueryset(request: FastifyRequest) {
        return QuerySet.of(request.em, Box);
      }
    }
    class NarrowedViewSet extends ModelViewSet(Box, { read: readBox, filters: [IndexFilter], pagination: null }) {
      override getQueryset(request: FastifyRequest) {
        return super.getQueryset(request).filter({ id__gt: 2 });
      }
    }
    const app = await testApp(t, orm, [
      shelvesFor(UserShelves)
        .register('shelves/:shelf/boxes', OverriddenViewSet)
        .register('indexed', IndexedViewSet)
        .register('overridden', OverriddenViewSet)
        .register('narrowed', NarrowedViewSet),
    ]);
    const at = async (url: string, user: string, accept = 'application/json') =>
      (await app.inject({ url, headers: { 'x-user': user, accept } })).body;
    t.match(await at('/indexed', 'ada'), '{"count":2,"next":false,"previous":false,"results":[{"id":2,"name":"on B"}');
    t.match(await at('/indexed', 'bob'), '"results":[{"id":1,"name":"on A"}]');
    t.equal(await at('/indexed', 'bob', 'application/x-ndjson'), '{"id":1,"name":"on A"}\n');
    t.equal(await at('/overridden', 'bob'), '[{"id":1,"name":"on A"}]');
    t.equal(await at('/shelves/2/boxes', 'bob'), '[]', 'the box on his shelf is another one’s');
    t.equal(await at('/narrowed', 'bob'), '[{"id":3,"name":"on none"}]', 'a filter narrows what getQueryset returns');
    t.match(await at('/indexed/paged', 'bob'), '"results":[{"id":1,"name":"on A"}]');
    t.equal(await at('/indexed/listed', 'ada'), '[{"id":3,"name":"on none"},{"id":2,"name":"on B"}]');
    t.equal(JSON.parse(await at('/indexed/every', 'ada')).length, 3, 'unless the action says so by name');
  });

  t.test(
    'MikroORM filters that getQueryset disables stay disabled for lists and actions whose filters return a new query set',
    async (t) => {
      class AllFilter extends Filter {
        readonly parameters = [];
        apply<E extends object>({ em, meta }: QuerySet<E>): QuerySet<E> {
          return QuerySet.of(em, meta.class as EntityName<E>);
        }
      }
      class FilteredViewSet extends ModelViewSet(Shelf, { read, filters: [AllFilter], exports: ['ndjson'] }) {
        override getQueryset(request: FastifyRequest) {
          return super.getQueryset(request).withFilters({ owner: { name: nameOf(request) } });
        }
        paged = action({}, (request) =>
          this.paginate(request, this.filterQueryset(request, this.getQueryset(request))),
        );
      }
      class OverriddenViewSet extends FilteredViewSet {
        override filterQueryset(request: FastifyRequest) {
          return QuerySet.of(request.em, Shelf);
        }
      }
      class EveryViewSet extends FilteredViewSet {
        override filterQueryset(request: FastifyRequest) {
          return QuerySet.of(request.em, Shelf).withFilters({ owner: false });
        }
      }
      const app = await testApp(t, orm, [
        new Router()
          .register('filtered', FilteredViewSet)
          .register('overridden', OverriddenViewSet)
          .register('every', EveryViewSet),
      ]);
      for (const url of ['/filtered', '/filtered/paged', '/overridden']) {
        t.same(await namesAt(app, url, 'bob'), ['B'], url);
      }
      for (const url of ['/filtered.ndjson', '/overridden.ndjson']) {
        t.equal((await app.inject({ url, headers: { 'x-user': 'bob' } })).body, '{"id":2,"name":"B"}\n', url);
      }
      t.same(await namesAt(app, '/every', 'bob'), ['A', 'B'], 'unless filterQueryset names its own');
    },
  );

  t.test('scoped() of a base class works for the entities that extend it', async (t) => {
    const app = await testApp(t, orm, [shelvesFor(Own), boxesFor(Own)]);
    t.same(await namesAt(app, '/shelves', 'ada'), ['A']);
    t.same(await namesAt(app, '/boxes', 'ada'), ['on B', 'on none']);
  });

  t.test('scoped() of another entity fails at start, in every option', async (t) => {
    const starts = (router: Router) => testApp(t, orm, [router]);
    const wrong = { name: 'ImproperlyConfigured', message: 'BoxViewSet: scoped(Shelf) stands at a view of Box' };
    await t.rejects(starts(boxesFor(UserShelves)), wrong);
    await t.rejects(starts(boxesFor(IsRoleAdminUser.or(IsAuthenticated.and(UserShelves.not())))), wrong);

    class ActionViewSet extends ModelViewSet(Box, { read: readBox }) {
      open = action({ detail: true, permissionClasses: [UserShelves] }, async () => ({}));
    }
    await t.rejects(starts(new Router().register('boxes', ActionViewSet)), {
      message: 'ActionViewSet.open: scoped(Shelf) stands at a view of Box',
    });

    class ReferringViewSet extends ModelViewSet(Box, {
      read: readBox,
      write: writeShape(Box, ['name', 'owner', 'shelf']),
      referencePermissions: { shelf: [BoxesOfUserShelves] },
    }) {}
    await t.rejects(starts(new Router().register('boxes', ReferringViewSet)), {
      message: 'ReferringViewSet: referencePermissions.shelf: scoped(Box) stands at a view of Shelf',
    });

    class PlainViewSet extends ViewSet {
      override readonly permissionClasses = [UserShelves];
      hello = action({ detail: false }, async () => ({}));
    }
    await t.rejects(starts(new Router().register('plain', PlainViewSet)), {
      message: 'PlainViewSet: scoped(Shelf) stands at a view of no entity',
    });
  });

  t.test('a reference accepts only records that the scope shows', async (t) => {
    class BoxViewSet extends ModelViewSet(Box, {
      read: readBox,
      write: writeShape(Box, ['name', 'owner', 'shelf']),
      referencePermissions: { shelf: [UserShelves] },
    }) {}
    const app = await testApp(t, orm, [new Router().register('boxes', BoxViewSet)]);
    const putOn = (shelf: number) =>
      app.inject({ method: 'PATCH', url: '/boxes/3', headers: { 'x-user': 'ada' }, payload: { shelf } });
    t.equal((await putOn(2)).statusCode, 400);
    t.equal((await putOn(1)).statusCode, 200);
  });

  t.test('invalid lookups show no records', async (t) => {
    const own = { owner: 'ada' };
    const others = [new Map(Object.entries(own)), new Date(), Object.create(own), { [Symbol('owner')]: 'ada' }];
    for (const none of [undefined, null, 'owner', [], { owner: undefined }, { owner: 7 }, ...others]) {
      const app = await testApp(t, orm, [shelvesFor(scoped(Shelf, () => none as never))]);
      for (const method of ['GET', 'OPTIONS'] as const) {
        const answer = await app.inject({ method, url: '/shelves' });
        t.equal(answer.statusCode, 500, `${method}, ${JSON.stringify(none)}: ${answer.body}`);
      }
    }
    t.throws(() => scoped(Shelf, { owner: 'ada' } as never), {
      name: 'ImproperlyConfigured',
      message: /scoped\(\).*lookups.*a function of the request/,
    });
  });
});

t.test('the compiler checks the names and values of the lookups', async () => {
  // @ts-expect-error -- no such field
  scoped(Shelf, () => ({ ownr: 'ada' }));
  // @ts-expect-error -- a number is no text
  scoped(Shelf, () => ({ owner: 7 }));
  // @ts-expect-error -- all of them, said by mistake
  scoped(Shelf, () => undefined);
  scoped<ShelfRecord>(Shelf, async () => ({ owner__in: ['ada'] }));
});

const Page = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20),
    slug: p
      .string()
      .length(20)
      .generated(() => '(lower("title")) stored')
      .nullable(),
  },
});

// MongoDB generates no columns.
forEachDatabase(t, { entities: [Page], only: SQL_DATABASES }, async (t, orm) => {
  await orm.em.getConnection().execute(`insert into page (title) values ('Mine')`);

  t.test('a value that the database converts cannot move a record out of the scope', async (t) => {
    class PageViewSet extends ModelViewSet(Page, {
      read: readShape(Page, ['id', 'title']),
      write: writeShape(Page, ['title']),
      permissionClasses: [scoped(Page, () => ({ slug: 'mine' }))],
    }) {}
    const app = await testApp(t, orm, [new Router().register('pages', PageViewSet)]);
    const rename = async (title: string) => {
      const request = { method: 'PATCH', url: '/pages/1', headers: { 'x-user': 'ada' }, payload: { title } } as const;
      return (await app.inject(request)).statusCode;
    };
    t.equal(await rename('Other'), 403);
    t.equal(await rename('MINE'), 200);
    t.same((await app.inject('/pages')).json().results, [{ id: 1, title: 'MINE' }]);
  });
});

const Club = defineEntity({
  name: 'Club',
  properties: { id: p.integer().primary(), owner: p.string(), gone: p.boolean().default(false) },
  filters: { alive: { name: 'alive', cond: { gone: false }, default: true } },
});
const Card = defineEntity({
  name: 'Card',
  properties: { id: p.integer().primary(), name: p.string(), club: () => p.manyToOne(Club).nullable() },
});

forEachDatabase(t, { entities: [Club, Card] }, async (t, orm) => {
  await orm.em.fork().insertMany(Club, [
    { id: 1, owner: 'ada', gone: false },
    { id: 2, owner: 'bob', gone: true },
  ]);
  await orm.em.fork().insertMany(Card, [
    { id: 1, name: 'of one', club: 1 },
    { id: 2, name: 'of a hidden one', club: 2 },
    { id: 3, name: 'of none', club: null },
  ]);

  t.test(
    'a scope compares references as they are stored, like em.find, even if the related record is hidden',
    async (t) => {
      const asked = [
        [{ club__isnull: true }, { club: null }, [3]],
        [{ club: null }, { club: null }, [3]],
        [{ club__id__isnull: true }, { club: { id: null } }, [3]],
        [{ club__isnull: false }, { club: { $ne: null } }, [1, 2]],
        [{ club: 2 }, { club: 2 }, [2]],
        [{ club__in: [1, 2] }, { club: { $in: [1, 2] } }, [1, 2]],
        [{ club__owner: 'bob' }, { club: { owner: 'bob' } }, []],
      ] as const;
      for (const [lookups, where, ids] of asked) {
        const found = await orm.em.fork().find(Card, where, { orderBy: { id: 1 } });
        t.strictSame(
          found.map(({ id }) => id),
          ids,
          `em.find ${JSON.stringify(where)}`,
        );
        const Scope = scoped(Card, () => lookups as never);
        class CardViewSet extends ModelViewSet(Card, {
          read: readShape(Card, ['id']),
          write: writeShape(Card, ['name', 'club']),
          permissionClasses: [Scope],
          filterFields: { without: 'club__isnull' },
        }) {}
        const app = await testApp(t, orm, [new Router().register('cards', CardViewSet)]);
        const listed = (await app.inject('/cards')).json<{ results: { id: number }[] }>();
        t.strictSame(
          listed.results.map(({ id }) => id),
          ids,
          JSON.stringify(lookups),
        );
        for (const id of [1, 2, 3]) {
          const isShown = (ids as readonly number[]).includes(id);
          t.equal((await app.inject(`/cards/${id}`)).statusCode, isShown ? 200 : 404, JSON.stringify(lookups));
          const patched = await app.inject({ method: 'PATCH', url: `/cards/${id}`, payload: { name: 'x' } });
          t.equal(patched.statusCode, isShown ? 200 : 404, JSON.stringify(lookups));
        }
      }
    },
  );

  t.test("a client's filter reads a reference to a hidden record as NULL, like responses", async (t) => {
    class CardViewSet extends ModelViewSet(Card, {
      read: readShape(Card, ['id', 'club']),
      filterFields: { without: 'club__isnull' },
    }) {}
    const app = await testApp(t, orm, [new Router().register('cards', CardViewSet)]);
    t.strictSame((await app.inject('/cards?without=true')).json<{ results: unknown }>().results, [
      { id: 2, club: null },
      { id: 3, club: null },
    ]);
  });
});
