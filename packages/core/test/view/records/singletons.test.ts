/** Views of one record that follows from the request: `singleton`. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  action,
  IsAuthenticated,
  IsOwner,
  ModelViewSet,
  nested,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const User = defineEntity({
  name: 'User',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).unique(),
    boss: () => p.manyToOne(User).nullable(),
    team: () => p.oneToMany(User).mappedBy('boss'),
  },
});
const Settings = defineEntity({
  name: 'Settings',
  properties: {
    id: p.integer().primary(),
    theme: p.string().length(20),
    owner: () => p.manyToOne(User).unique(),
  },
});
const Project = defineEntity({
  name: 'Project',
  properties: { id: p.integer().primary(), key: p.string().unique(), owner: () => p.manyToOne(User) },
});
const Board = defineEntity({
  name: 'Board',
  properties: { id: p.integer().primary(), color: p.string(), project: () => p.oneToOne(Project).owner() },
});

const idOf = ({ user }: FastifyRequest): number | undefined => user?.id as number | undefined;
const ofUser = (request: FastifyRequest) => (idOf(request) === undefined ? null : { id: idOf(request)! });

class UserViewSet extends ModelViewSet(User, {
  read: readShape(User, ['id', 'name']),
  write: writeShape(User, ['name']),
  singleton: ofUser,
  permissionClasses: [IsAuthenticated],
}) {
  shout = action({ detail: true, methods: ['post'] }, async (request) => {
    const user = await this.getObject(request);
    user.name = user.name.toUpperCase();
    return { name: user.name, isLocked: request.em.isInTransaction() };
  });
  words = action({}, () => ({ words: 3 }));
}

class TeamViewSet extends ModelViewSet(User, {
  read: readShape(User, ['name']),
  write: writeShape(User, ['name'], { team: nested(writeShape(User, ['name']), { update: true }) }),
  singleton: ofUser,
}) {}

class OpenViewSet extends ModelViewSet(User, { read: readShape(User, ['id', 'name']), singleton: ofUser }) {}

class SettingsViewSet extends ModelViewSet(Settings, {
  read: readShape(Settings, ['theme']),
  write: writeShape(Settings, ['theme']),
  singleton: (request) => ({ owner__id: idOf(request)! }),
  operations: ['create', 'retrieve', 'update', 'destroy'],
  updateMethods: ['PATCH'],
  envelope: { one: 'settings' },
  etags: true,
  permissionClasses: [IsAuthenticated, IsOwner('owner')],
}) {}

class ProjectViewSet extends ModelViewSet(Project, {
  read: readShape(Project, ['key']),
  lookupField: 'key',
  permissionClasses: [IsOwner('owner', { scope: true })],
}) {}

class BoardViewSet extends ModelViewSet(Board, {
  read: readShape(Board, ['color']),
  write: writeShape(Board, ['color']),
  singleton: () => ({}),
  operations: ['create', 'retrieve', 'update'],
}) {}

const entities = [User, Settings, Project, Board];

forEachDatabase(t, { entities }, async (t, orm) => {
  const router = new Router({ prefix: 'api' })
    .register('user', UserViewSet)
    .register('team', TeamViewSet)
    .register('open', OpenViewSet)
    .register('settings', SettingsViewSet)
    .register('projects', ProjectViewSet)
    .register('projects/:project/board', BoardViewSet);
  const app = await testApp(t, orm, [router], {
    before: (instance) => {
      instance.addHook('onRequest', async (request) => {
        const { user } = request.headers;
        if (typeof user === 'string') request.user = { id: Number(user), role: { name: 'member' } };
      });
    },
  });
  const send = async (
    method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE' | 'OPTIONS',
    url: string,
    { user, payload, headers }: { user?: number; payload?: object; headers?: Record<string, string> } = {},
  ) => {
    const response = await app.inject({
      method,
      url,
      headers: { ...(user === undefined ? {} : { user: String(user) }), ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    const body: unknown = response.body === '' ? undefined : response.json();
    return { status: response.statusCode, body, headers: response.headers };
  };
  const seed = async (): Promise<void> => {
    await orm.schema.clear();
    const em = orm.em.fork();
    const [ann, bob] = ['ann', 'bob'].map((name, index) => em.create(User, { id: 71 + index, name }));
    em.create(Project, { id: 71, key: 'tea', owner: ann! });
    em.create(Project, { id: 72, key: 'ink', owner: bob! });
    em.create(Settings, { id: 72, theme: 'dark', owner: bob! });
    await em.flush();
  };
  t.beforeEach(seed);

  t.test('the record follows from the request: GET, PUT and PATCH without a key', async (t) => {
    t.match(await send('GET', '/api/user', { user: 71 }), { status: 200, body: { id: 71, name: 'ann' } });
    t.match(await send('GET', '/api/user', { user: 72 }), { status: 200, body: { id: 72, name: 'bob' } });
    t.match(await send('PATCH', '/api/user', { user: 71, payload: { name: 'Ann' } }), {
      body: { id: 71, name: 'Ann' },
    });
    t.match(await send('PUT', '/api/user', { user: 72, payload: { name: 'Bo' } }), { body: { id: 72, name: 'Bo' } });
    t.match(await send('PATCH', '/api/user', { user: 71, payload: { name: 7 } }), {
      status: 400,
      body: { details: [{ in: 'body', path: '/name' }] },
    });
    t.match(await send('PATCH', '/api/user', { user: 71, payload: { name: 'Bo' } }), {
      status: 409,
      body: { details: [{ in: 'body', path: '/name', message: 'is taken' }] },
    });
    t.match(await send('GET', '/api/user', { user: 71 }), { body: { name: 'Ann' } });
  });

  t.test('a request without a record gives 404, and permissions come before', async (t) => {
    t.equal((await send('GET', '/api/user')).status, 401);
    t.equal((await send('GET', '/api/open')).status, 404);
    t.equal((await send('GET', '/api/open', { user: 79 })).status, 404);
    t.equal((await send('GET', '/api/open', { user: 71 })).status, 200);
    t.equal((await send('PATCH', '/api/user', { user: 79, payload: { name: 'x' } })).status, 404);
    t.equal((await send('GET', '/api/user/1', { user: 71 })).status, 404);
  });

  t.test('create and destroy are offered only if the view lists them', async (t) => {
    const { status, headers } = await send('POST', '/api/user', { user: 71, payload: { name: 'x' } });
    t.equal(status, 405);
    t.equal(headers['allow'], 'GET, HEAD, PUT, PATCH, OPTIONS');
    t.equal((await send('DELETE', '/api/user', { user: 71 })).status, 405);
    t.equal((await send('PUT', '/api/settings', { user: 72, payload: {} })).status, 405);
  });

  t.test('a record is created once, changed and deleted', async (t) => {
    const payload = { settings: { theme: 'light' } };
    t.equal((await send('GET', '/api/settings', { user: 71 })).status, 404);
    t.equal((await send('DELETE', '/api/settings', { user: 71 })).status, 404);
    const made = await send('POST', '/api/settings', { user: 71, payload, headers: { 'if-none-match': '*' } });
    t.match(made, { status: 201, body: { settings: { theme: 'light' } }, headers: { location: '/api/settings' } });
    t.match(await send('GET', '/api/settings', { user: 71 }), { status: 200, headers: { etag: made.headers['etag'] } });
    t.equal((await send('POST', '/api/settings', { user: 71, payload })).status, 409);
    t.equal((await send('DELETE', '/api/settings', { user: 71 })).status, 204);
    t.equal((await send('GET', '/api/settings', { user: 71 })).status, 404);
    t.match(await send('GET', '/api/settings', { user: 72 }), { body: { settings: { theme: 'dark' } } });
  });

  t.test('conditional requests hold', async (t) => {
    const { headers } = await send('GET', '/api/settings', { user: 72 });
    const etag = headers['etag'] as string;
    t.equal((await send('GET', '/api/settings', { user: 72, headers: { 'if-none-match': etag } })).status, 304);
    const change = (tag: string, theme: string) =>
      send('PATCH', '/api/settings', { user: 72, payload: { settings: { theme } }, headers: { 'if-match': tag } });
    t.equal((await change('"other"', 'red')).status, 412);
    t.match(await change(etag, 'blue'), { status: 200, body: { settings: { theme: 'blue' } } });
    t.equal((await change(etag, 'red')).status, 412);
    t.equal((await send('DELETE', '/api/settings', { user: 72, headers: { 'if-match': etag } })).status, 412);
  });

  t.test('a conflict names the children that are taken, and not the record itself', async (t) => {
    const payload = { name: 'ann', team: [{ name: 'eve' }, { name: 'bob' }] };
    const { status, body } = await send('PATCH', '/api/team', { user: 71, payload });
    t.equal(status, 409);
    t.match((body as { details: unknown }).details, [{ in: 'body', path: '/team/1/name', message: 'is taken' }]);
    t.equal((body as { details: unknown[] }).details.length, 1);
  });

  t.test('an action has no key in its path either', async (t) => {
    t.match(await send('POST', '/api/user/shout', { user: 71 }), {
      status: 200,
      body: { name: 'ANN', isLocked: true },
    });
    t.match(await send('GET', '/api/user', { user: 71 }), { body: { name: 'ANN' } });
    t.match(await send('GET', '/api/user/words', { user: 71 }), { body: { words: 3 } });
    t.equal((await send('POST', '/api/user/shout', { user: 79 })).status, 404);
  });

  t.test('below a parent it is the record of the parent, under the scope of its view', async (t) => {
    const url = '/api/projects/tea/board';
    t.equal((await send('GET', url, { user: 71 })).status, 404);
    t.match(await send('POST', url, { user: 71, payload: { color: 'red' } }), {
      status: 201,
      headers: { location: url },
    });
    t.equal((await send('POST', url, { user: 71, payload: { color: 'red' } })).status, 409);
    t.match(await send('PATCH', url, { user: 71, payload: { color: 'blue' } }), { body: { color: 'blue' } });
    t.match(await send('GET', url, { user: 71 }), { status: 200, body: { color: 'blue' } });
    t.equal((await send('GET', url, { user: 72 })).status, 404);
    t.equal((await send('GET', '/api/projects/none/board', { user: 71 })).status, 404);
    t.equal((await send('GET', '/api/projects/ink/board', { user: 72 })).status, 404);
  });

  t.test('it is read in one statement', async (t) => {
    const queries = recordQueries(orm);
    await send('GET', '/api/user', { user: 71 });
    t.equal(queries.texts.length, 1);
    await send('GET', '/api/open');
    t.equal(queries.texts.length, 1, 'nothing is asked for nobody');
    queries.stop();
  });

  t.test('OPTIONS, the index and reverse know it', async (t) => {
    const { headers } = await send('OPTIONS', '/api/user', { user: 71 });
    t.equal(headers['permitted-operations'], 'retrieveUser, replaceUser, updateUser, shoutUser, wordsUser');
    t.equal((await send('OPTIONS', '/api/user')).headers['permitted-operations'], '');
    t.equal((await send('OPTIONS', '/api/settings', { user: 71 })).headers['permitted-operations'], 'createSettings');
    t.match((await send('GET', '/api')).body, { user: '/api/user', settings: '/api/settings' });
    t.match((await send('OPTIONS', '/api', { user: 71 })).headers['permitted-operations'], /retrieveUser/);
    t.equal(router.reverse('user-detail'), '/api/user');
    t.equal(router.reverse('projects-board-detail', { project: 'tea' }), '/api/projects/tea/board');
  });

  t.test('plans have one path, no key, and a description for a single record', async (t) => {
    const plans = app.viewset.operations.filter(({ view }) => view.basename === 'settings');
    t.strictSame(
      plans.map(({ method, path, detail, pathParameters }) => [method, path, detail, pathParameters.length]),
      [
        ['POST', '/api/settings', false, 0],
        ['GET', '/api/settings', true, 0],
        ['PATCH', '/api/settings', true, 0],
        ['DELETE', '/api/settings', true, 0],
      ],
    );
    t.strictSame(
      plans.map(({ documentation }) => documentation.summary),
      ['Create the settings', 'Retrieve the settings', 'Update the settings', 'Delete the settings'],
    );
    t.strictSame(
      plans.map(({ responses }) => '404' in responses),
      [false, true, true, true],
    );
    const board = app.viewset.operations.find(({ path }) => path.endsWith('/board'));
    t.equal(board?.documentation.summary, 'Create the board of a project');
  });
});

t.test('mistakes are found at registration', async (t) => {
  const read = readShape(User, ['id', 'name']);
  const refusal = (options: object): string => {
    try {
      ModelViewSet(User, { read, singleton: ofUser, ...options });
      return 'none';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const text = 'does not fit "singleton", a view of one record without a key';
  t.equal(refusal({ operations: ['list'] }), `ModelViewSet(User): operation "list" ${text}`);
  t.equal(refusal({ lookupField: 'name' }), `ModelViewSet(User): option "lookupField" ${text}`);
  t.match(refusal({ singleton: { id: 1 } }), /option "singleton" must be a function/);
});

forEachDatabase(t, { entities, only: ['sqlite'] }, async (t, orm) => {
  await orm.em.fork().insert(User, { id: 1, name: 'ann' });

  t.test('a singleton cannot have requests about several records', async (t) => {
    class SeveralViewSet extends ModelViewSet(User, {
      read: readShape(User, ['id', 'name']),
      write: writeShape(User, ['name']),
      singleton: ofUser,
      bulk: 3,
    }) {}
    await t.rejects(testApp(t, orm, [new Router().register('user', SeveralViewSet)]), {
      code: 'improperly_configured',
      message: 'SeveralViewSet: option "bulk" does not fit "singleton", a view of one record without a key',
    });
  });

  t.test('a path parameter or reference cannot name the record of a singleton', async (t) => {
    const router = new Router().register('user', OpenViewSet).register('user/:owner/projects', ProjectViewSet);
    await t.rejects(testApp(t, orm, [router]), {
      code: 'improperly_configured',
      message: /":owner" would name a record of OpenViewSet, which is a singleton: its paths have no key/,
    });
    class Referring extends ModelViewSet(Project, {
      read: readShape(Project, ['id']),
      write: writeShape(Project, ['key', 'owner']),
      referenceViews: { owner: OpenViewSet },
    }) {}
    const app = testApp(t, orm, [new Router().register('user', OpenViewSet).register('projects', Referring)]);
    await t.rejects(
      app.then((each) => each.ready()),
      /names OpenViewSet for "owner", which is a singleton/,
    );
  });

  t.test('lookups that do not fit are errors of the program', async (t) => {
    const statusOf = async (singleton: () => never): Promise<number> => {
      class Wrong extends ModelViewSet(User, { read: readShape(User, ['id']), singleton }) {}
      const app = await testApp(t, orm, [new Router().register('user', Wrong)]);
      return (await app.inject('/user')).statusCode;
    };
    t.equal(await statusOf((() => ({ nmae: 'ann' })) as never), 500);
    t.equal(await statusOf((() => ({ id: 'x' })) as never), 500);
    t.equal(await statusOf((async () => ({ id: 1 })) as never), 500);
    t.equal(await statusOf((() => ({ id: 1 })) as never), 200);
  });
});
