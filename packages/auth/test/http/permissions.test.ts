import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import {
  action,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  readShape,
  Router,
  serverOptions,
  ViewSet,
  viewset,
} from '@viewset/core';
import fastify, { type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { auth, type AuthOptions, HasPermission } from '../../src/index.ts';
import { MailBox, PASSWORD, SECRET, startApp } from '../support/app.ts';
import {
  Account as PlainAccount,
  PermissionRole as Role,
  Role as PlainRole,
  RolesAccount as Account,
  RolesSession as Session,
} from '../support/entities.ts';

const answer = (): object => ({});

class Products extends ViewSet {
  override permissionClasses = [IsSafeMethodOnly.or(HasPermission('products.write'))];
  all = action({ methods: ['get', 'post'] }, answer);
}

class Prices extends ViewSet {
  override permissionClasses = [HasPermission('prices.read').and(HasPermission('products.write').not())];
  all = action({}, answer);
  /** The compiler knows that somebody is logged in. */
  mine = action({ permissionClasses: [HasPermission('prices.read')] }, ({ user }) => ({ email: user.email }));
}

class Staff extends ViewSet {
  override permissionClasses = [IsRoleAdminUser];
  all = action({}, answer);
}

function addRoutes(app: FastifyInstance): void {
  const router = new Router();
  router.register('products', Products);
  router.register('prices', Prices);
  router.register('staff', Staff);
  void app.register(router.plugin);
}

async function addAccount(
  orm: MikroORM,
  email: string,
  role: object | null,
  roles: readonly object[] = [],
): Promise<Account> {
  const em = orm.em.fork();
  const fields = { email, password: PASSWORD, name: 'Ann', is_active: true, role, roles };
  const account = em.create(Account, fields as never);
  await em.persist(account).flush();
  return account;
}

const queries: string[] = [];
const logged = { debug: ['query' as const], colors: false, logger: (line: string) => void queries.push(line) };

forEachDatabase(t, { entities: [Account, Role, Session], orm: logged }, async (t, orm) => {
  const app = await startApp(t, orm, { account: Account }, addRoutes);
  const em = orm.em.fork();
  const writer = em.create(Role, { name: 'writer', permissions: ['products.write', 'products.read'] });
  const pricer = em.create(Role, { name: 'pricer', permissions: ['prices.read', 'products.read'] });
  const admin = em.create(Role, { name: 'admin' });
  const odd = em.create(Role, { name: 'odd', permissions: { 'products.write': true } as never });
  await em.flush();
  const tokenOf = async (name: string, role: object | null, roles: readonly object[] = []): Promise<string> => {
    await addAccount(orm, `${name}@example.com`, role, roles);
    return app.login(`${name}@example.com`);
  };
  const asks = async (path: string, token?: string, method = 'GET'): Promise<number> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return (await app.request(method, `${path}/all`, { headers, ...(method === 'POST' && { json: {} }) })).status;
  };

  t.test("a role's permission admits to views that require it, and to no others", async (t) => {
    const ann = await tokenOf('ann', writer);
    t.equal(await asks('/products', ann, 'POST'), 200);
    t.equal(await asks('/prices', ann), 403);
    const bob = await tokenOf('bob', pricer);
    t.equal(await asks('/products', bob, 'POST'), 403);
    t.equal(await asks('/products', bob), 200);
    t.equal(await asks('/prices', bob), 200);
    for (const [name, role] of [
      ['none', null],
      ['admin', admin],
      ['odd', odd],
    ] as const) {
      t.equal(await asks('/products', await tokenOf(name, role), 'POST'), 403, `${name}: no list, no permission`);
    }
    t.equal(await asks('/products', undefined, 'POST'), 401);
    t.equal(await asks('/prices'), 401);
  });

  t.test('an account has the permissions of all its roles', async (t) => {
    const token = await tokenOf('several', pricer, [writer, pricer, admin]);
    const { body } = await app.get('/me', token);
    t.match(body, { user: { role: { name: 'pricer' } } });
    const { roles, permissions } = body['user'] as unknown as { roles: { name: string }[]; permissions: string[] };
    t.strictSame(roles.map(({ name }) => name).toSorted(), ['admin', 'pricer', 'writer']);
    t.strictSame(permissions.toSorted(), ['prices.read', 'products.read', 'products.write'], 'each once');
    t.equal(await asks('/products', token, 'POST'), 200);
    t.equal(await asks('/prices', token), 403, 'not() sees all roles too');
    t.equal(await asks('/staff', token), 200, 'so does IsRoleAdminUser');
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as object;
    t.match(claims, { role: 'pricer' });
    t.strictSame(Object.keys(claims).toSorted(), ['email', 'exp', 'iat', 'role', 'user_id', 'username']);
    const only = await tokenOf('only', null, [writer]);
    t.match((await app.get('/me', only)).body, { user: { role: null, roles: [{ name: 'writer' }] } });
    t.equal(await asks('/products', only, 'POST'), 200);
  });

  t.test('a change of a role holds from the next request on', async (t) => {
    const changing = em.create(Role, { name: 'changing', permissions: [] });
    await em.flush();
    const token = await tokenOf('changing', changing);
    t.equal(await asks('/products', token, 'POST'), 403);
    await orm.em.fork().nativeUpdate(Role, { id: changing.id }, { permissions: ['products.write'] });
    t.equal(await asks('/products', token, 'POST'), 200);
    await orm.em.fork().nativeUpdate(Role, { id: changing.id }, { permissions: null });
    t.equal(await asks('/products', token, 'POST'), 403);
  });

  t.test('one query loads the user with all roles and their permissions', async (t) => {
    const token = await tokenOf('counted', pricer, [writer, admin]);
    queries.length = 0;
    t.equal(await asks('/products', token, 'POST'), 200);
    t.equal(queries.length, 1, queries.join('\n'));
  });

  t.test('one query loads the user together with the session', async (t) => {
    const shown = readShape(Account, ['email'], { role_name: 'role.name' });
    const me = { read: shown } as NonNullable<AuthOptions['me']>;
    const withSessions = await startApp(t, orm, { account: Account, sessions: Session, me }, addRoutes);
    await addAccount(orm, 'held@example.com', pricer, [writer, admin]);
    const token = await withSessions.login('held@example.com');
    queries.length = 0;
    const { body } = await withSessions.get('/auth/me', token);
    t.match(body, { email: 'held@example.com', role_name: 'pricer' });
    t.equal(queries.length, 2, 'one for the user, one for /me');
    queries.length = 0;
    const { user } = (await withSessions.get('/me', token)).body as unknown as { user: { roles: { name: string }[] } };
    t.strictSame(user.roles.map(({ name }) => name).toSorted(), ['admin', 'pricer', 'writer']);
    t.match(user, { role_name: 'pricer' });
    t.equal(queries.length, 1, queries.join('\n'));
  });

  t.test('with a cache, no request can give another one permissions', async (t) => {
    const cached = await startApp(t, orm, { account: Account, userCacheSeconds: 5 }, (instance) => {
      instance.post('/grant', async (request) => {
        (request.user as unknown as { permissions: string[] }).permissions.push('products.write');
      });
    });
    cached.app.log.level = 'silent';
    const token = await tokenOf('cached', pricer, [admin]);
    const answer = await cached.request('POST', '/grant', { headers: { authorization: `Bearer ${token}` } });
    t.equal(answer.status, 500);
  });
});

/** Starts an application with one view behind a permission. */
async function start(t: Test, orm: MikroORM, name: string, permissions?: readonly string[]): Promise<FastifyInstance> {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const options = { account: PlainAccount, secret: SECRET, mailer: new MailBox(), bcryptRounds: 4 };
  await app.register(auth, { ...options, ...(permissions && { permissions }) });
  const router = new Router();
  router.register(
    'things',
    class Things extends ViewSet {
      override permissionClasses = [IsSafeMethodOnly.or(HasPermission(name))];
      all = action({}, answer);
    },
  );
  await app.register(router.plugin);
  await app.ready();
  return app;
}

t.test('a permission that is not in the declared list fails at start', async (t) => {
  const orm = await openSqlite(t, { entities: [PlainAccount, PlainRole] });
  const declared = ['products.write', 'products.read'];
  await (await start(t, orm, 'products.wriet')).close();
  const app = await start(t, orm, 'products.read', declared);
  await t.rejects(start(t, orm, 'products.wriet', declared), {
    name: 'ImproperlyConfigured',
    message: /HasPermission\("products\.wriet"\): option "permissions" of auth has no such name/,
  });
  await app.close();
});

t.test('an invalid permission fails at start', async (t) => {
  for (const name of ['', undefined, null, 5]) {
    t.throws(() => HasPermission(name as string), { name: 'ImproperlyConfigured' });
  }
  const orm = await openSqlite(t, { entities: [PlainAccount, PlainRole] });
  for (const permissions of ['products.write', [''], [5], {}]) {
    await t.rejects(start(t, orm, 'x', permissions as never), /option "permissions" must be a list of names/);
  }
});

t.test('roles and permissions of an unsupported type fail at start', async (t) => {
  const base = {
    id: p.integer().primary(),
    name: p.string(),
    email: p.string().unique(),
    password: p.string(),
    is_active: p.boolean().default(true),
    last_login: p.datetime().nullable(),
  };
  const role = { id: p.integer().primary(), name: p.string() };
  const Texts = defineEntity({ name: 'Texts', properties: { ...role, permissions: p.string() } });
  const Other = defineEntity({ name: 'Other', properties: role });
  const candidates = [
    [
      defineEntity({ name: 'A', properties: { ...base, role: () => p.manyToOne(Texts).nullable() } }),
      /"permissions", if any, is a JSON column; Texts\.permissions is none/,
    ],
    [
      defineEntity({
        name: 'B',
        properties: { ...base, role: () => p.manyToOne(Other).nullable(), roles: () => p.manyToMany(Texts) },
      }),
      /"roles" only as many-to-many with Other; B\.roles is not/,
    ],
  ] as const;
  for (const [account, message] of candidates) {
    const orm = await openSqlite(t, { entities: [account, Texts, Other] });
    const app = fastify(serverOptions());
    await app.register(viewset, { orm });
    const options = { account: account as never, secret: SECRET, mailer: new MailBox() };
    await t.rejects(async () => app.register(auth, options), { name: 'ImproperlyConfigured', message });
    await app.close().catch(() => {});
  }
});
