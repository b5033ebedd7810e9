/** Lists that are live, over HTTP and real sockets: what a client knows is what a GET would show it, and nothing else. */
import { defineEntity, type InferEntity, LockMode, p } from '@mikro-orm/core';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { connect } from 'node:http2';
import t, { type Test } from 'tap';
import {
  action,
  AllowAny,
  CursorPagination,
  IsOwner,
  ModelViewSet,
  nativeNumber,
  type NativeTerm,
  PageNumberPagination,
  Permission,
  readShape,
  Router,
  serverOptions,
  type TextSearch,
  Unauthorized,
  type ViewSet,
  viewset,
  writeShape,
} from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { live, type LiveOptions, ListChange, ListVersion, notifyLists } from '../src/index.ts';
import { EventStream } from './support/event-stream.ts';
import { until } from './support/until.ts';

const Task = defineEntity({
  name: 'Task',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(50),
    place: p.integer().default(0),
    done: p.boolean().default(false),
    secret: p.string().length(50).default('hush'),
    owner: p.integer().default(0),
  },
});
type TaskRecord = InferEntity<typeof Task>;

const read = readShape(Task, ['id', 'title', 'place', 'done']);
const write = writeShape(Task, ['title', 'place', 'done', 'owner']);
const common = {
  read,
  write,
  filterFields: { done: 'done', title: 'title__icontains' },
  orderingFields: { place: 'place', id: 'id' },
  pageSize: 3,
  bulk: 50,
} as const;

class SmallCursors extends CursorPagination {
  override readonly pageSize = 3;
}

/** Tells of each page that is read. */
class CountedPages extends PageNumberPagination {
  static onPage: () => void = () => {};
  override paginate: PageNumberPagination['paginate'] = (...args) => {
    CountedPages.onPage();
    return super.paginate(...args);
  };
}

/** The user of a request is the one that its header names. */
function withUsers(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    const id = request.headers['user'];
    request.user = id === undefined ? null : { id: Number(id) };
  });
}

forEachDatabase(t, { entities: [Task, ListChange, ListVersion] }, async (t, orm, database) => {
  const start = async (
    t: Test,
    View: new () => ViewSet,
    options: LiveOptions = {},
    before?: (app: FastifyInstance) => void,
  ) => {
    await orm.em.fork().nativeDelete(Task, {});
    await orm.em.fork().nativeDelete(ListChange, {});
    const app = fastify({ ...serverOptions(), trustProxy: true, forceCloseConnections: true });
    t.teardown(() => app.close());
    await app.register(viewset, { orm, secret: 'x'.repeat(32) });
    before?.(app);
    await app.register(live, { windowMs: 10, pollMs: 60_000, ...options });
    await app.register(new Router().register('tasks', View).plugin);
    const address = await app.listen({ port: 0, host: '127.0.0.1' });
    const url = `${address}/tasks`;
    const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
      const response = await fetch(url + path, {
        method,
        headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return response.status === 204 ? undefined : ((await response.json()) as Record<string, unknown>);
    };
    const store = async (...tasks: Partial<TaskRecord>[]) => {
      const em = orm.em.fork();
      const ids: string[] = [];
      for (const task of tasks) {
        const created = em.create(Task, { title: '', ...task });
        await em.flush();
        ids.push(String(created.id));
      }
      return ids;
    };
    /** Waits until a stream shows what a GET shows. */
    const agrees = (stream: EventStream, query = '', headers: Record<string, string> = {}) =>
      until(async () => {
        const { results, ...rest } = (await send('GET', query, undefined, headers)) as { results: object[] };
        return (
          JSON.stringify(stream.records.map(({ record }) => record)) === JSON.stringify(results) &&
          JSON.stringify(stream.rest) === JSON.stringify(rest)
        );
      });
    return { app, url, send, store, agrees };
  };

  class Tasks extends ModelViewSet(Task, { ...common, live: true }) {}

  t.test('a stream begins with the list, followed by records that enter, change and leave', async (t) => {
    const { url, send, store, agrees } = await start(t, Tasks);
    const [a, b] = await store({ title: 'A', place: 1 }, { title: 'B', place: 2 });
    const stream = await EventStream.open(t, `${url}?sort=place&done=false`);
    t.equal(stream.response.status, 200);
    t.equal(stream.response.headers.get('cache-control'), 'no-store');
    t.equal(stream.response.headers.get('x-accel-buffering'), 'no');
    t.equal(stream.response.headers.get('vary'), 'Accept');
    await stream.until(({ events }) => events.length === 1);
    t.equal(stream.events[0]!.event, 'list');
    t.strictSame(stream.events[0]!.data, await send('GET', '?sort=place&done=false'));

    await send('PATCH', `/${b}`, { title: 'B2' });
    await stream.until(({ events }) => events.length === 2);
    t.match(stream.events[1], { event: 'change', data: { key: b, index: 1, record: { title: 'B2' } } });
    await send('PATCH', `/${a}`, { done: true });
    await stream.until(({ told }) => told.includes('count'));
    t.strictSame(stream.told.slice(2), [`leave ${a}`, 'count']);
    const made = await send('POST', '', { title: 'C', place: 0 });
    await stream.until(({ told }) => told.length === 6);
    t.match(stream.events[4], { event: 'enter', data: { key: String(made!['id']), index: 0 } });
    t.strictSame(Object.keys(stream.events[4]!.data['record'] as object), ['id', 'title', 'place', 'done']);
    await send('DELETE', `/${b}`);
    await agrees(stream, '?sort=place&done=false');
    t.strictSame(stream.faults, []);
  });

  t.test('the page stays a page: records that are pushed out leave, and those behind move up', async (t) => {
    const { url, send, store, agrees } = await start(t, Tasks);
    const ids = await store(...[1, 2, 3, 4].map((place) => ({ title: `T${place}`, place: place * 10 })));
    const stream = await EventStream.open(t, `${url}?sort=place`);
    await stream.until(({ events }) => events.length === 1);
    await send('POST', '', { title: 'first', place: 5 });
    await stream.until(({ told }) => told.includes('count'));
    t.equal(stream.told[1], `leave ${ids[2]}`);
    t.match(stream.events[2], { event: 'enter', data: { index: 0 } });
    await send('PATCH', `/${ids[0]}`, { place: 25 });
    await agrees(stream, '?sort=place');
    await send('DELETE', `/${ids[0]}`);
    await agrees(stream, '?sort=place');
    t.strictSame(stream.faults, []);
  });

  t.test('a list that becomes empty, or a page behind its end, has no records in its count', async (t) => {
    const { url, send, store } = await start(t, Tasks);
    const [a, b] = await store({ title: 'A' }, { title: 'B' });
    const [whole, second] = [
      await EventStream.open(t, url),
      await EventStream.open(t, `${url}?page=2&page_size=1&sort=id`),
    ];
    for (const stream of [whole, second]) await stream.until(({ events }) => events.length === 1);
    await send('DELETE', `/${b}`);
    await second.until(({ told }) => told.includes('count'));
    t.strictSame(second.rest, { count: 1, next: false, previous: true });
    await send('DELETE', `/${a}`);
    await whole.until(({ records, told }) => records.length === 0 && told.at(-1) === 'count');
    t.strictSame(whole.rest, { count: 0, next: false, previous: false });
  });

  t.test('several writes of a transaction are sent once, and a rolled back write never', async (t) => {
    const { url, send, store, agrees } = await start(t, Tasks);
    const ids = await store({ title: 'A' }, { title: 'B' });
    const stream = await EventStream.open(t, url);
    await stream.until(({ events }) => events.length === 1);
    await send('PATCH', '', ids.map((id) => ({ id: Number(id), title: `new ${id}` })) as object);
    await agrees(stream);
    t.strictSame(
      stream.told.slice(1),
      ids.map((id) => `change ${id}`),
    );
    await t.rejects(
      send('PATCH', '', [
        { id: Number(ids[0]), title: 'lost' },
        { id: 999_999, title: 'none' },
      ] as object),
    );
    await send('PATCH', `/${ids[1]}`, { title: 'kept' });
    await stream.until(({ told }) => told.length === 4);
    t.notMatch(JSON.stringify(stream.events), /lost/);
  });

  t.test('a job notifies by notifyLists, after it has committed', async (t) => {
    const { url, store } = await start(t, Tasks);
    const [id] = await store({ title: 'A' });
    const stream = await EventStream.open(t, url);
    await stream.until(({ events }) => events.length === 1);
    const em = orm.em.fork();
    await em.transactional(async (within) => {
      await within.nativeUpdate(Task, { id: Number(id) }, { title: 'by a job' });
      await notifyLists({ em: within }, Task);
    });
    await stream.until(({ told }) => told.length === 2);
    t.match(stream.events[1], { event: 'change', data: { record: { title: 'by a job' } } });
  });

  t.test('a client resumes from its last event, also on another process, and receives the difference', async (t) => {
    const first = await start(t, Tasks);
    const [a, b] = await first.store({ title: 'A' }, { title: 'B' });
    const before = await EventStream.open(t, first.url);
    await before.until(({ events }) => events.length === 1);
    before.close();
    const same = await EventStream.open(t, first.url, { from: before });
    await first.send('PATCH', `/${a}`, { title: 'A2' });
    await same.until(({ events }) => events.length === 1);
    t.strictSame(same.told, [`change ${a}`], 'nothing had changed, so nothing was told before');
    same.close();
    await first.send('DELETE', `/${b}`);
    const made = await first.send('POST', '', { title: 'C' });

    const other = fastify({ ...serverOptions(), forceCloseConnections: true });
    t.teardown(() => other.close());
    await other.register(viewset, { orm });
    await other.register(live, { windowMs: 10 });
    await other.register(new Router().register('tasks', Tasks).plugin);
    const address = await other.listen({ port: 0, host: '127.0.0.1' });
    const resumed = await EventStream.open(t, `${address}/tasks`, { from: same });
    await resumed.until(({ events }) => events.length === 2);
    t.strictSame(resumed.told, [`leave ${b}`, `enter ${String(made!['id'])}`]);
    t.strictSame(resumed.faults, []);
    await first.agrees(resumed);
  });

  t.test('an unknown id returns a reset with the complete list', async (t) => {
    const { url, store, send } = await start(t, Tasks);
    await store({ title: 'A' });
    const made = Buffer.from(JSON.stringify(['AAAAAAAAAAAA', 7, 'x'])).toString('base64url');
    for (const id of ['12', 'AAAAAAAAAAAA', '%%%', made, Buffer.from('{').toString('base64url'), 'x'.repeat(9000)]) {
      const stream = await EventStream.open(t, url, { headers: { 'last-event-id': id } });
      await stream.until(({ events }) => events.length === 1);
      t.equal(stream.events[0]!.event, 'reset', id.slice(0, 20));
      t.strictSame(stream.events[0]!.data, await send('GET', ''));
      stream.close();
    }
  });

  t.test('an id of a list that is too long for ids returns a reset too', async (t) => {
    class AllTasks extends ModelViewSet(Task, { ...common, pageSize: 200, maxPageSize: 200, live: true }) {}
    const { url } = await start(t, AllTasks);
    await orm.em.fork().insertMany(
      Task,
      Array.from({ length: 200 }, (_, index) => ({ title: `Task ${index}` })),
    );
    const digest = 'A'.repeat(12);
    for (const parts of [[digest], [digest, '1', digest], [digest, '7', digest, '5', digest, 'none', digest]]) {
      const id = Buffer.from(JSON.stringify(parts)).toString('base64url');
      const stream = await EventStream.open(t, url, { headers: { 'last-event-id': id } });
      await stream.until(({ events }) => events.length > 0);
      t.strictSame(stream.told, ['reset'], 'the list, and no difference from what was made up');
      t.equal(stream.records.length, 200);
      stream.close();
    }
  });

  t.test('after each event, a client that has got no further goes on behind it', async (t) => {
    const { url, store, send } = await start(t, Tasks);
    const ids = await store({ title: 'A' }, { title: 'B' }, { title: 'C' });
    const whole = await EventStream.open(t, url);
    await whole.until(({ events }) => events.length === 1);
    await orm.em.fork().nativeDelete(Task, { id: Number(ids[1]) });
    await orm.em.fork().nativeUpdate(Task, { id: Number(ids[2]) }, { title: 'C2' });
    await send('POST', '', { title: 'D' });
    await whole.until(({ told }) => told.length >= 4);
    const all = whole.told.slice(1);
    for (const [index, { id }] of whole.events.entries()) {
      const stream = await EventStream.open(t, url, { headers: { 'last-event-id': id! } });
      const rest = all.slice(index);
      await stream.until(({ events }) => events.length === rest.length);
      t.strictSame(stream.told, rest, `behind event ${index}`);
      stream.close();
    }
  });

  t.test('each client sees only its scope, and records that leave the scope leave the list', async (t) => {
    class UserTasks extends ModelViewSet(Task, {
      ...common,
      write: writeShape(Task, ['title', 'place', 'done']),
      live: true,
      permissionClasses: [IsOwner('owner', { scope: true })],
    }) {}
    const { url, send, store, agrees } = await start(t, UserTasks, {}, withUsers);
    const [a] = await store({ title: 'A', owner: 1 }, { title: 'B', owner: 2 });
    const one = await EventStream.open(t, url, { headers: { user: '1' } });
    const two = await EventStream.open(t, url, { headers: { user: '2' } });
    await one.until(({ events }) => events.length === 1);
    await two.until(({ events }) => events.length === 1);
    await send('POST', '', { title: 'C' }, { user: '1' });
    await agrees(one, '', { user: '1' });
    await orm.em.fork().nativeUpdate(Task, { id: Number(a) }, { owner: 2 });
    await send('POST', '', { title: 'D' }, { user: '1' });
    await agrees(one, '', { user: '1' });
    await agrees(two, '', { user: '2' });
    t.ok(one.told.includes(`leave ${a}`));
    t.ok(two.told.includes(`enter ${a}`));
    t.notMatch(JSON.stringify(one.events), /"B"/);
    t.notMatch(JSON.stringify(two.events), /"C"|"D"/);
  });

  t.test('a user who loses access to the list receives only an event that says so', async (t) => {
    const banned = new Set<number>();
    const ended = new Set<string>();
    class Guarded extends ModelViewSet(Task, {
      ...common,
      live: true,
      permissionClasses: [
        class extends Permission {
          override hasPermission({ user }: FastifyRequest) {
            return user !== null && !banned.has(Number(user.id));
          }
        },
      ],
    }) {}
    const { url, send, store } = await start(t, Guarded, {}, (app) => {
      withUsers(app);
      app.viewset.live.identify.add(async (request) => {
        if (ended.has(String(request.headers['user']))) throw new Unauthorized();
      });
    });
    const [a] = await store({ title: 'A' });
    t.equal((await EventStream.open(t, url)).response.status, 401);
    const streams = await Promise.all(['1', '2', '3'].map((user) => EventStream.open(t, url, { headers: { user } })));
    for (const stream of streams) await stream.until(({ events }) => events.length === 1);
    banned.add(1);
    ended.add('2');
    await send('PATCH', `/${a}`, { title: 'not for them' }, { user: '3' });
    for (const stream of streams.slice(0, 2)) await stream.until(({ isEnded }) => isEnded);
    t.match(streams[0]!.events[1], { event: 'end', data: { status: 403 } });
    t.match(streams[1]!.events[1], { event: 'end', data: { status: 401 } });
    await streams[2]!.until(({ told }) => told.length === 2);
    t.equal(streams[0]!.events.length + streams[1]!.events.length, 4);
  });

  t.test(
    'a list whose request is in a transaction of a hook is rejected, because the stream would not see its changes',
    async (t) => {
      const { url, send, store } = await start(t, Tasks, {}, (app) => {
        app.addHook('preHandler', async (request) => {
          if (request.headers['user'] === 'in') await request.em.begin();
        });
        app.addHook('onSend', async ({ em }) => {
          if (em.isInTransaction()) await em.rollback();
        });
      });
      await store({ title: 'A' });
      // The driver of MongoDB reads nothing in a transaction that begins outside of its own.
      if (database !== 'mongodb') t.equal((await send('GET', '', undefined, { user: 'in' }))!['count'], 1);
      t.equal((await EventStream.open(t, url, { headers: { user: 'in' } })).response.status, 500);
      t.equal((await EventStream.open(t, url)).response.status, 200);
    },
  );

  t.test('clients with equal queries share one database query', async (t) => {
    let pages = 0;
    class CountedTasks extends ModelViewSet(Task, { ...common, live: true, pagination: CountedPages }) {}
    CountedPages.onPage = () => (pages += 1);
    const { url, send, agrees } = await start(t, CountedTasks, { maxConnectionsPerUser: 100 }, withUsers);
    const streams = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        EventStream.open(t, `${url}?done=false&page=1`, { headers: { user: String(index % 5) } }),
      ),
    );
    const other = await EventStream.open(t, `${url}?done=true&page=1`);
    for (const stream of [...streams, other]) await stream.until(({ events }) => events.length === 1);
    pages = 0;
    await send('POST', '', { title: 'A' });
    for (const stream of streams) await stream.until(({ told }) => told.includes('count'));
    t.ok(pages <= 4, `${pages} pages were read, of two questions in one round or two`);
    await agrees(streams[0]!, '?done=false&page=1');
  });

  t.test('clients with an equal native term share one query too, and those with other values do not', async (t) => {
    let pages = 0;
    const rank: NativeTerm = {
      name: 'rank',
      sql: ({ alias, value }) => `${alias}."id" * ${value}`,
      document: (factor) => ({ $multiply: ['$_id', factor] }),
    };
    const ranked: TextSearch = {
      forView: () => ({
        fields: [],
        describe: () => 'A number',
        search: (queryset, text) => {
          return queryset.orderByPaths([{ path: nativeNumber(queryset.meta, rank, [Number(text)]), descending: true }]);
        },
      }),
    };
    class RankedTasks extends ModelViewSet(Task, {
      ...common,
      searchFields: ranked,
      live: true,
      pagination: CountedPages,
    }) {}
    CountedPages.onPage = () => (pages += 1);
    const { url, send } = await start(t, RankedTasks, { maxConnectionsPerUser: 100 }, withUsers);
    const open = (factor: number) => EventStream.open(t, `${url}?search=${factor}`, { headers: { user: '1' } });
    const streams = await Promise.all(Array.from({ length: 20 }, (_, index) => open(index < 19 ? 2 : -2)));
    for (const stream of streams) await stream.until(({ events }) => events.length === 1);
    pages = 0;
    await send('POST', '', { title: 'A' });
    for (const stream of streams) await stream.until(({ told }) => told.includes('count'));
    t.ok(pages >= 2 && pages <= 4, `${pages} pages were read, of two questions in one round or two`);
  });

  t.test('pages by cursor and chosen fields are followed as they are', async (t) => {
    class CursorTasks extends ModelViewSet(Task, { ...common, live: true, fields: true, pagination: SmallCursors }) {}
    const { url, send, store } = await start(t, CursorTasks);
    const [a] = await store({ title: 'A' }, { title: 'B' }, { title: 'C' }, { title: 'C2' });
    const stream = await EventStream.open(t, `${url}?fields=title&sort=-id`);
    await stream.until(({ events }) => events.length === 1);
    t.equal(typeof stream.events[0]!.data['next_cursor'], 'string');
    await send('PATCH', `/${a}`, { title: 'not on this page' });
    await send('POST', '', { title: 'D' });
    await stream.until(({ told }) => told.length === 3);
    t.strictSame(stream.events[2]!.data['record'], { title: 'D' });
    t.match(stream.told.join(), /^list,leave \d+,enter \d+$/, 'the cursors alone are no news');
  });

  t.test('an action that lists is not live, because it has separate permissions', async (t) => {
    class ActingTasks extends ModelViewSet(Task, { ...common, live: true }) {
      mine = action(
        { answers: 'page', permissionClasses: [AllowAny] },
        (request, reply) => this.list(request, reply) as never,
      );
    }
    const { url } = await start(t, ActingTasks);
    const answer = await fetch(`${url}/mine`, { headers: { accept: 'text/event-stream' } });
    t.equal(answer.status, 200);
    t.match(answer.headers.get('content-type'), /json/);
  });

  t.test('HTTP/2 streams too', async (t) => {
    const app = fastify({ http2: true });
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    await app.register(live, { windowMs: 10 });
    await app.register(new Router().register('tasks', Tasks).plugin);
    const session = connect(await app.listen({ port: 0, host: '127.0.0.1' }));
    t.teardown(() => session.destroy());
    const stream = session.request({ ':path': '/tasks', accept: 'text/event-stream' });
    let text = '';
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
    await until(() => text.includes('event: list'));
    await app.inject({ method: 'POST', url: '/tasks', payload: { title: 'by HTTP/2' } });
    await until(() => text.includes('by HTTP/2'));
    t.equal(stream.closed, false);
  });

  t.test('a view that a stream could not follow fails at start', async (t) => {
    const refused = async (options: object, ...others: (new () => ViewSet)[]) => {
      class View extends ModelViewSet(Task, { ...common, ...options }) {}
      const app = fastify(serverOptions());
      t.teardown(() => app.close());
      await app.register(viewset, { orm });
      await app.register(live);
      const router = new Router().register('tasks', View);
      for (const [index, Other] of others.entries()) router.register(`others${index}`, Other);
      await app.register(router.plugin);
      await app.ready();
    };
    class Silent extends ModelViewSet(Task, common) {}
    class LiveWrites extends ModelViewSet(Task, { ...common, live: 'writes' }) {}
    class Deaf extends ModelViewSet(Task, { ...common, live: false }) {}
    class Reading extends ModelViewSet(Task, { read }) {}
    await t.rejects(refused({ live: true }, Silent), /Silent: its create would not reach the lists of View/);
    await refused({ live: true }, LiveWrites, Deaf, Reading);
    class Hiding extends ModelViewSet(Task, { ...common, live: true }) {
      override paginate: never = (async () => ({ results: [] })) as never;
    }
    class HidingAll extends ModelViewSet(Task, { read, pagination: null, live: true }) {
      override rows: never = (async () => []) as never;
    }
    await t.rejects(refused({}, Hiding), /Hiding: option "live" would send what the override of paginate\(\) may hide/);
    await t.rejects(
      refused({}, HidingAll),
      /HidingAll: option "live" would send what the override of rows\(\) may hide/,
    );
    await t.rejects(
      refused({ live: true, read: readShape(Task, ['title']) }),
      /option "live" needs "id" in each read shape of the list/,
    );
    await t.rejects(
      refused({ live: true, operations: ['create'] }),
      /needs the operation "list", .* use live: 'writes'/,
    );
    await t.rejects(refused({ live: 'yes' }), /"live" must be true, false or "writes"/);
    const bare = fastify(serverOptions());
    t.teardown(() => bare.close());
    await bare.register(viewset, { orm });
    await t.rejects(
      async () => bare.register(new Router().register('tasks', Tasks).plugin),
      /needs a plugin that sends live lists/,
    );
    const wrong = fastify(serverOptions());
    t.teardown(() => wrong.close());
    await wrong.register(viewset, { orm });
    await t.rejects(async () => wrong.register(live, { pollMs: 0 }), /live: option "pollMs"/);
  });

  t.test('a list is read again after some time even without a notification', async (t) => {
    const ended = new Set<string>();
    const { url, store } = await start(t, Tasks, { refreshMs: 50, pollMs: 20 }, (app) => {
      app.viewset.live.identify.add(async (request) => {
        if (ended.has(String(request.headers['user']))) throw new Unauthorized();
      });
    });
    const [a] = await store({ title: 'A' });
    const stream = await EventStream.open(t, url, { headers: { user: '1' } });
    await stream.until(({ events }) => events.length === 1);
    await orm.em.fork().nativeUpdate(Task, { id: Number(a) }, { title: 'past the views' });
    await stream.until(({ events }) => events.length === 2);
    ended.add('1');
    await stream.until(({ isEnded }) => isEnded);
    t.equal(stream.told.at(-1), 'end');
  });

  t.test('HEAD, lists that are not live, invalid parameters and shutdown respond as for any list', async (t) => {
    const { app, url, store, send } = await start(t, Tasks, { maxConnectionsPerUser: 2 });
    await store({ title: 'A' });
    const accept = 'text/event-stream';
    const head = await fetch(url, { method: 'HEAD', headers: { accept } });
    t.equal(head.headers.get('content-type'), accept);
    // A range names no stream, which never ends.
    for (const range of ['*/*', 'text/*', 'application/json;q=0.9, */*', 'text/*, application/json;q=0.5']) {
      const answer = await fetch(url, { headers: { accept: range } });
      t.match(answer.headers.get('content-type'), /^application\/json/, range);
      t.equal(((await answer.json()) as { count: number }).count, 1);
    }
    t.equal((await fetch(`${url}?wrong=1`, { headers: { accept } })).status, 400);
    t.equal((await fetch(`${url}?page=x`, { headers: { accept } })).status, 400);
    const [one, two] = [await EventStream.open(t, url), await EventStream.open(t, url)];
    const refused = await fetch(url, { headers: { accept } });
    t.equal(refused.status, 429);
    t.match(await refused.json(), { error: 'You have too many live lists open; close one first' });
    one.close();
    await until(async () => {
      const again = await EventStream.open(t, url);
      return again.response.status === 200;
    });
    t.equal((await send('GET', ''))!['count'], 1);
    await app.close();
    await two.until(({ isEnded }) => isEnded);
  });

  t.test('the number of streams of a client is limited across the addresses of its network', async (t) => {
    const { url } = await start(t, Tasks, { maxConnectionsPerUser: 2 }, withUsers);
    const open = async (address: string, user?: string): Promise<number> => {
      const headers = { 'x-forwarded-for': address, ...(user !== undefined && { user }) };
      return (await EventStream.open(t, url, { headers })).response.status;
    };
    t.strictSame([await open('2001:db8::1'), await open('2001:db8::2')], [200, 200]);
    t.equal(await open('2001:db8::ffff:ffff:ffff:ffff'), 429);
    t.equal(await open('2001:db8:0:1::1'), 200, 'another network');
    t.strictSame([await open('192.0.2.1'), await open('::ffff:192.0.2.1'), await open('192.0.2.1')], [200, 200, 429]);
    t.strictSame([await open('192.0.2.1', '7'), await open('2001:db8::1', '7')], [200, 200]);
    t.equal(await open('192.0.2.2', '7'), 429, 'a user, from anywhere');
  });

  t.test('a change is sent although a dead process holds locks on its notes', async (t) => {
    // The transaction of such a process is open for a minute on MongoDB. SQLite and PostgreSQL end it with the process.
    if (database !== 'mongodb') return;
    const { url, send, agrees } = await start(t, Tasks, { pollMs: 50 });
    await send('POST', '', { title: 'A' });
    const stream = await EventStream.open(t, url);
    await stream.until(({ events }) => events.length === 1);
    await until(async () => (await orm.em.fork().count(ListChange, {})) === 0);
    const gone = orm.em.fork();
    await gone.begin();
    t.equal(await gone.nativeUpdate(ListVersion, {}, { version: 'never' }), 1);
    for (const title of ['B', 'C']) {
      await send('POST', '', { title });
      await stream.until(({ records }) => records.some(({ record }) => record['title'] === title));
    }
    await EventStream.open(t, url).then((late) => late.until(({ records }) => records.length === 3));
    await gone.rollback();
    await until(async () => (await orm.em.fork().count(ListChange, {})) === 0);
    await agrees(stream, '');
    t.strictSame(stream.faults, []);
  });

  t.test('a change is sent although another process is reading its note', async (t) => {
    // Only PostgreSQL lets a process pass by the notes that another one has locked.
    if (database !== 'postgresql') return;
    const waking = Promise.withResolvers<() => void>();
    const wakeUps = { listen: (wake: () => void) => (waking.resolve(wake), () => {}) };
    const { url, store } = await start(t, Tasks, { pollMs: 600_000, wakeUps });
    const stream = await EventStream.open(t, url);
    await stream.until(({ events }) => events.length === 1);
    await store({ title: 'A' });
    await orm.em.fork().insert(ListChange, { id: 'taken', entity: 'Task' });
    const other = orm.em.fork();
    await other.begin();
    await other.find(ListChange, {}, { lockMode: LockMode.PESSIMISTIC_WRITE });
    (await waking.promise)();
    await stream.until(({ records }) => records.length === 1);
    await other.nativeDelete(ListChange, {});
    await other.commit();
    t.strictSame(stream.faults, []);
  });

  t.test('a note that is committed late is not overlooked', async (t) => {
    const { url, send, store } = await start(t, Tasks, { pollMs: 10 });
    const [a] = await store({ title: 'A' });
    const stream = await EventStream.open(t, url);
    await stream.until(({ events }) => events.length === 1);
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const isAlone = orm.em.getPlatform().getDefaultSchemaName() !== 'public' && database === 'sqlite';
    const early = orm.em.fork().transactional(async (em) => {
      await notifyLists({ em }, Task);
      await em.nativeUpdate(Task, { id: Number(a) }, { title: 'begun first' });
      begun.resolve();
      if (!isAlone) await goOn.promise;
    });
    await begun.promise;
    if (!isAlone) {
      for (const title of ['B', 'C']) {
        await send('POST', '', { title });
        await stream.until(({ records }) => records.some(({ record }) => record['title'] === title));
      }
    }
    goOn.resolve();
    await early;
    await stream.until(({ records }) => records.some(({ record }) => record['title'] === 'begun first'));
    t.strictSame(stream.faults, []);
  });
});
