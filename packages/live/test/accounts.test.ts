/** Live lists of two people with accounts: what ends a login, a key or a role ends the stream, before anything more is told. */
import { defineEntity, p } from '@mikro-orm/core';
import { auth } from '@viewset/auth';
import {
  getCurrentUser,
  IsAuthenticated,
  IsRoleAdminUser,
  ModelViewSet,
  readShape,
  requireUser,
  Router,
  scoped,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import fastify, { type FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { Account, ApiKey, Role, Session } from '../../auth/test/support/entities.ts';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { live, ListChange, ListVersion, notifyLists } from '../src/index.ts';
import { EventStream } from './support/event-stream.ts';
import { until } from './support/until.ts';

const Task = defineEntity({
  name: 'Task',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(50),
    note: p.string().length(50).default(''),
    owner: p.integer(),
    deleted_at: p.datetime(3).nullable(),
  },
});

const write = writeShape(Task, ['title', 'note']);
const fill = { owner: (request: FastifyRequest) => Number(requireUser(request).id) };

class UserTasks extends ModelViewSet(Task, {
  read: readShape(Task, ['id', 'title']),
  write,
  fill,
  live: true,
  softDelete: 'deleted_at',
  permissionClasses: [IsAuthenticated, scoped(Task, (request) => ({ owner: Number(requireUser(request).id) }))],
}) {}
class AllTasks extends ModelViewSet(Task, {
  read: readShape(Task, ['id', 'title', 'note']),
  live: true,
  softDelete: 'deleted_at',
  operations: ['list'],
  permissionClasses: [IsRoleAdminUser],
}) {}
/** Shows the note of a task to administrators alone. */
class TasksByRole extends ModelViewSet(Task, {
  read: { default: readShape(Task, ['id', 'title']), admin: readShape(Task, ['id', 'title', 'note']) },
  live: true,
  softDelete: 'deleted_at',
  operations: ['list'],
  permissionClasses: [IsAuthenticated],
}) {
  override readShapeFor(request: FastifyRequest) {
    return getCurrentUser(request)?.role?.name === 'admin' ? 'admin' : undefined;
  }
}

const PASSWORD = 'correct horse';
const entities = [Account, ApiKey, ListChange, ListVersion, Role, Session, Task];

forEachDatabase(t, { entities }, async (t, orm) => {
  const em = () => orm.em.fork();

  /** Starts an application with an administrator, Ann, and a user, Bob. */
  const start = async (t: Test) => {
    await orm.schema.clear();
    const rows = em();
    const role = rows.create(Role, { name: 'admin' });
    const ann = rows.create(Account, { name: 'Ann', email: 'ann@example.com', password: PASSWORD, role });
    const bob = rows.create(Account, { name: 'Bob', email: 'bob@example.com', password: PASSWORD });
    const app = fastify({ ...serverOptions(), forceCloseConnections: true });
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    await app.register(live, { windowMs: 10, pollMs: 60_000 });
    await app.register(auth, {
      account: Account,
      sessions: Session,
      apiKeys: ApiKey,
      secret: 'an application secret of 32 bytes',
      bcryptRounds: 4,
      routes: ['login', 'logout', 'api-keys'],
    });
    const router = new Router().register('tasks', UserTasks).register('all-tasks', AllTasks);
    await app.register(router.register('tasks-by-role', TasksByRole).plugin);
    await rows.flush();
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const send = async (method: 'GET' | 'POST' | 'DELETE', path: string, token: string, payload?: object) => {
      const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
      const answer = await app.inject({ method, url: path, headers, ...(payload && { payload }) });
      t.ok(answer.statusCode < 300, `${method} ${path}: ${answer.body}`);
      return answer.body === '' ? {} : answer.json<Record<string, string>>();
    };
    const login = async (email: string) =>
      (await send('POST', '/auth/login', '', { email, password: PASSWORD }))['access_token']!;
    const open = async (token: string, path = '/tasks', from?: EventStream) => {
      const stream = await EventStream.open(t, url + path, { from, headers: { authorization: `Bearer ${token}` } });
      await stream.until(({ events }) => events.length > 0 || stream.response.status !== 200);
      return stream;
    };
    return { ann, bob, role, send, login, open };
  };

  /** Waits for the end of a stream that was told nothing more than a status. */
  const endsUntold = async (t: Test, stream: EventStream, status: number) => {
    await stream.until(({ isEnded }) => isEnded);
    t.strictSame(stream.told, ['list', 'end']);
    t.match(stream.events[1]!.data, { status });
  };

  t.test('a logout, a disabled account, a lost role and a deleted key end only their streams', async (t) => {
    const { ann, bob, send, login, open } = await start(t);
    const [anns, bobs, bobsPhone] = [await login(ann.email), await login(bob.email), await login(bob.email)];
    const key = await send('POST', '/auth/api-keys', bobs, { name: 'program' });
    const late = await send('POST', '/auth/api-keys', bobs, { name: 'expires', expires_at: '2999-01-01T00:00:00Z' });

    let [ended, stays] = [await open(bobs), await open(bobsPhone)];
    const [byKey, byLateKey] = [await open(key['key']!), await open(late['key']!)];
    await send('POST', '/auth/logout', bobs, {});
    await send('POST', '/tasks', bobsPhone, { title: 'after the logout' });
    await endsUntold(t, ended, 401);
    for (const stream of [stays, byKey, byLateKey]) await stream.until(({ keys }) => keys.length === 1);

    await send('DELETE', `/auth/api-keys/${key['id']}`, bobsPhone);
    await em().nativeUpdate(ApiKey, { id: late['id']! }, { expires_at: new Date(Date.now() - 1) });
    await send('POST', '/tasks', bobsPhone, { title: 'after the keys' });
    for (const stream of [byKey, byLateKey]) {
      await stream.until(({ isEnded }) => isEnded);
      t.equal(stream.events.at(-1)!.data['status'], 401);
      t.notMatch(JSON.stringify(stream.events), /after the keys/);
    }
    await stays.until(({ keys }) => keys.length === 2);

    ended = await open(anns, '/all-tasks');
    await em().nativeUpdate(Account, { id: ann.id }, { role: null });
    await send('POST', '/tasks', bobsPhone, { title: 'for admins', note: 'secret' });
    await endsUntold(t, ended, 403);

    ended = await open(bobsPhone);
    await em().nativeUpdate(Account, { id: bob.id }, { is_active: false });
    await send('POST', '/tasks', anns, { title: 'by Ann' });
    await endsUntold(t, ended, 401);
    stays = await open(anns);
    t.equal(stays.records.length, 1, 'Ann still has hers');
  });

  t.test(
    'a record that goes from one person to another leaves, enters, and leaves again when it is deleted',
    async (t) => {
      const { ann, bob, send, login, open } = await start(t);
      const [anns, bobs] = [await login(ann.email), await login(bob.email)];
      const task = await send('POST', '/tasks', anns, { title: 'given away', note: 'secret' });
      const [one, two] = [await open(anns), await open(bobs)];
      await orm.em.fork().transactional(async (em) => {
        await em.nativeUpdate(Task, { id: Number(task['id']) }, { owner: bob.id, title: 'of Bob' });
        await notifyLists({ em }, Task);
      });
      await two.until(({ keys }) => keys.length === 1);
      await one.until(({ keys }) => keys.length === 0);
      t.notMatch(JSON.stringify(one.events), /of Bob/);
      await send('DELETE', `/tasks/${task['id']}`, bobs);
      await two.until(({ keys }) => keys.length === 0);
      t.notMatch(JSON.stringify([one.events, two.events]), /secret|deleted_at/);
    },
  );

  t.test('a field of a role is sent only to that role, and not after the role is lost', async (t) => {
    const { ann, bob, send, login, open } = await start(t);
    const [anns, bobs] = [await login(ann.email), await login(bob.email)];
    const [one, two] = [await open(anns, '/tasks-by-role'), await open(bobs, '/tasks-by-role')];
    await send('POST', '/tasks', bobs, { title: 'first', note: 'the first note' });
    for (const stream of [one, two]) await stream.until(({ keys }) => keys.length === 1);
    t.match(one.records[0]!.record, { note: 'the first note' });
    await em().nativeUpdate(Account, { id: ann.id }, { role: null });
    await send('POST', '/tasks', bobs, { title: 'second', note: 'the second note' });
    for (const stream of [one, two]) await stream.until(({ keys }) => keys.length === 2);
    t.strictSame(
      one.records.map(({ record }) => Object.keys(record)),
      [
        ['id', 'title'],
        ['id', 'title'],
      ],
    );
    t.notMatch(JSON.stringify(one.events), /the second note/);
    t.notMatch(JSON.stringify(two.events), /note/);
  });

  t.test('an event id of another user, or an invented one, reveals nothing of their list', async (t) => {
    const { ann, bob, send, login, open } = await start(t);
    const [anns, bobs] = [await login(ann.email), await login(bob.email)];
    await send('POST', '/tasks', anns, { title: 'of Ann' });
    await send('POST', '/tasks', bobs, { title: 'of Bob' });
    const first = await open(anns);
    const other = await open(bobs, '/tasks', first);
    await until(() => other.keys.length === 1 && other.told.length === 2);
    t.match(other.told, [/^leave/, /^enter/]);
    t.notMatch(JSON.stringify(other.events), /of Ann/);
    const digest = 'a'.repeat(12);
    for (const parts of [
      [digest, '1\n\nevent: end', digest, '__proto__', digest],
      [[digest]],
      [digest, '1', 'short'],
      {},
    ]) {
      first.lastId = Buffer.from(JSON.stringify(parts)).toString('base64url');
      first.records = [];
      const forged = await open(bobs, '/tasks', first);
      await forged.until(({ events }) => JSON.stringify(events).includes('of Bob'));
      t.notMatch(JSON.stringify(forged.events), /of Ann/);
      t.notOk(forged.told.includes('end'));
    }
  });
});
