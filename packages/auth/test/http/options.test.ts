import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { readFileSync } from 'node:fs';
import {
  AllowAny,
  IsAuthenticated,
  MemoryStore,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  type Store,
  viewset,
  writeShape,
} from '@viewset/core';
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { OPTION_NAMES } from '../../src/auth-options.ts';
import { auth, type AuthOptions } from '../../src/index.ts';
import { MailBox, SECRET, startApp } from '../support/app.ts';
import { Account, Identity, Role, Session } from '../support/entities.ts';
import { makeKeys } from '../support/keys.ts';

const entities = [Account, Role];
const good: AuthOptions = { account: Account, secret: SECRET, mailer: new MailBox(), bcryptRounds: 4 };

t.test('an invalid option fails at start with a sentence that names it', async (t) => {
  const orm = await openSqlite(t, { entities });
  const start = async (options: object): Promise<void> => {
    const app = fastify();
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    await app.register(auth, options as AuthOptions);
    await app.ready();
  };
  for (const userCacheSeconds of [0, 0.5, 300]) await start({ ...good, userCacheSeconds });
  await start(good);
  const { mailer: _mailer, ...mailless } = good;
  await start({ ...mailless, routes: ['login', 'register'] });
  const keys = makeKeys({ type: 'ed25519' });
  const wrong: [object, RegExp][] = [
    [{ ...good, secert: 'x' }, /unknown option "secert"; did you mean "secret"\?/],
    [{ ...good, secret: undefined }, /option "secret" must be a string/],
    [{ ...good, secret: 'short' }, /option "secret" must have at least 32 bytes, but has 5/],
    [{ ...good, codeSecret: 'short' }, /option "codeSecret" must have at least 32 bytes/],
    [{ ...good, algorithm: 'none' }, /option "algorithm" must be one of HS256, RS256, ES256, EdDSA, got "none"/],
    [{ ...good, algorithm: 'RS256' }, /option "keys" must be/],
    [{ ...good, keys }, /option "keys" is for/],
    [{ ...good, secret: undefined, algorithm: 'EdDSA', keys }, /option "secret" must be a string/],
    [{ ...good, expirationDelta: 0 }, /option "expirationDelta" must be a whole number of seconds/],
    [{ ...good, expirationDelta: '1d' }, /option "expirationDelta"/],
    ...[-1, 301, NaN, Infinity, '5', null, true].map((userCacheSeconds): [object, RegExp] => [
      { ...good, userCacheSeconds },
      /option "userCacheSeconds" must be a number of seconds from 0 to 300, got .*/,
    ]),
    [{ ...good, clock: 5 }, /option "clock" must be a function, got 5/],
    [{ ...good, urlPrefix: 'auth' }, /option "urlPrefix" must be a path/],
    [{ ...good, urlPrefix: '/a/:b' }, /option "urlPrefix"/],
    [{ ...good, authenticate: 'x' }, /option "authenticate" must be a function/],
    [{ ...good, defaultRole: 5 }, /option "defaultRole" must be the name of a role, got 5/],
    [{ ...good, sessions: null as never }, /option "sessions": the options must be an object, got null/],
    [{ ...good, sessions: {} as never }, /option "sessions": option "entity" must be the entity of sessions/],
    [{ ...good, sessions: { entity: Session, grace: 1 } as never }, /option "sessions": unknown option "grace"/],
    [
      { ...good, sessions: { entity: Session, graceSeconds: 61 } },
      /"graceSeconds" must be a whole number of seconds from 0/,
    ],
    [{ ...good, sessions: { entity: Session, lifetimeSeconds: 0 } }, /"lifetimeSeconds" must be a whole number/],
    [
      { ...good, sessions: { entity: Session, maxLifetimeSeconds: NaN } },
      /"maxLifetimeSeconds" must be a whole number/,
    ],
    [
      { ...good, sessions: { entity: Session, origins: ['https://a.example/'] } },
      /"origins" must be a list of origins/,
    ],
    [{ ...good, sessions: Session }, /option "sessions" must be an entity that the ORM knows/],
    [{ ...good, tokenScheme: 'To ken' }, /option "tokenScheme" must be a word, such as "Token", got "To ken"/],
    [{ ...good, routes: ['refresh'] }, /the route "refresh" needs the option "sessions"/],
    [{ ...good, routes: ['logn'] as never }, /option "routes" must be a list of login, register, /],
    [{ ...good, nonAuthEndpoints: ['login'] }, /"nonAuthEndpoints" \(NON_AUTH_ENDPOINTS\).*got "login"/],
    [{ ...good, nonAuthEndpoints: '/a,/b' }, /"nonAuthEndpoints"/],
    [{ ...good, mailer: undefined }, /option "mailer" must be an EmailSender/],
    [{ ...mailless, passwords: {} }, /option "mailer" must be .*, which the route "send-verification-email" needs/],
    [{ ...mailless, passwords: {}, routes: ['forgot-password'] }, /which the route "forgot-password" needs/],
    [{ ...mailless, mailer: {}, routes: [] }, /option "mailer" must be an EmailSender/],
    [{ ...good, routes: ['forgot-password'] }, /the route "forgot-password" needs the option "passwords"/],
    [{ ...good, routes: ['me'] }, /the route "me" needs the option "me"/],
    [{ ...good, passwords: { minLength: 0 } }, /option "minLength" must be a whole number above 0, got 0/],
    [{ ...good, passwords: { length: 5 } }, /option "passwords": unknown option "length"/],
    [
      { ...good, passwords: { commonPasswords: 5 } },
      /option "passwords\.commonPasswords" must be a list of passwords, or/,
    ],
    [{ ...good, me: { write: {} } }, /option "me\.write" must be a writeShape\(\)/],
    [{ ...good, me: { read: {} } }, /option "me\.read" must be a readShape\(\)/],
    [{ ...good, me: { delete: 'yes' } }, /option "me\.delete" must be true, false or a function/],
    [{ ...good, emailChangeNotice: 5 }, /option "emailChangeNotice" must be a function/],
    [{ ...good, passwordChangeNotice: 5 }, /option "passwordChangeNotice" must be a function/],
    [{ ...good, account: undefined }, /option "account" must be/],
    [{ ...good, bcryptRounds: 99 }, /option "bcryptRounds" must be an integer from 4 to 20, got 99/],
    [
      { ...good, account: defineEntity({ name: 'Stranger', properties: { id: p.integer().primary() } }) },
      /must be an entity that the ORM knows/,
    ],
  ];
  for (const [options, message] of wrong) {
    await t.rejects(start(options), { name: 'ImproperlyConfigured', message }, message.source);
  }
});

t.test('an ORM without transactions fails at start, because an account is stored in one, with its role', async (t) => {
  const orm = await openSqlite(t, { entities, orm: { disableTransactions: true } });
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const message =
    'auth: the registration of an account, with the role that it refers to, needs a transaction, but the ORM has none (disableTransactions)';
  await t.rejects(async () => app.register(auth, good), { name: 'ImproperlyConfigured', message });
});

t.test('an entity that cannot serve as the account is refused, by the property that it lacks', async (t) => {
  const base = {
    id: p.integer().primary(),
    name: p.string(),
    email: p.string().unique(),
    password: p.string(),
    role: () => p.manyToOne(Role).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime().nullable(),
  };
  const { role: _role, last_login: _last, ...withoutTwo } = base;
  const Nameless = defineEntity({ name: 'Nameless', properties: { id: p.integer().primary() } });
  const candidates = [
    [defineEntity({ name: 'A', properties: withoutTwo }), /A has no last_login, role/],
    [defineEntity({ name: 'B', properties: { ...base, email: p.string() } }), /B\.email is not/],
    [defineEntity({ name: 'C', properties: { ...base, password: p.string().length(50) } }), /room for a bcrypt hash/],
    [defineEntity({ name: 'D', properties: { ...base, role: p.string() } }), /D\.role is none/],
    [
      defineEntity({ name: 'E', properties: { ...base, role: () => p.manyToOne(Nameless).nullable() } }),
      /Nameless has no name/,
    ],
    [
      defineEntity({ name: 'F', properties: { ...base, id: p.integer(), uid: p.integer().primary() } }),
      /"id" as its primary key/,
    ],
  ] as const;
  for (const [account, message] of candidates) {
    const orm = await openSqlite(t, { entities: [account, Role, Nameless] });
    const app = fastify();
    await app.register(viewset, { orm });
    await t.rejects(async () => app.register(auth, { ...good, account } as AuthOptions), {
      name: 'ImproperlyConfigured',
      message,
    });
    await app.close().catch(() => {});
  }
});

t.test('an entity that cannot serve as the passkey is refused, by the property that it lacks', async (t) => {
  const base = {
    id: p.uuid().primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade'),
    name: p.string().length(100),
    credential_id: p.string().length(1364).unique(),
    public_key: p.text(),
    counter: p.bigint('number'),
    transports: p.json().nullable(),
    created_at: p.datetime(),
    last_used_at: p.datetime().nullable(),
  };
  const { counter: _counter, ...withoutCounter } = base;
  const candidates = [
    [withoutCounter, /option "passkeys" must have the properties .*; A has no counter/],
    [{ ...base, counter: p.integer() }, /must have "counter" as p\.bigint\('number'\)/],
    [{ ...base, counter: p.bigint() }, /must have "counter" as p\.bigint\('number'\)/],
    [{ ...base, credential_id: p.string().length(1364) }, /unique property "credential_id"/],
    [{ ...base, credential_id: p.string().length(255).unique() }, /room for an id, 1364 characters/],
    [{ ...base, transports: p.string().nullable() }, /"transports" as a JSON column/],
    [{ ...base, last_used_at: p.datetime() }, /"last_used_at" nullable/],
    [{ ...base, account: () => p.manyToOne(Account) }, /must be deleted with its "account"/],
    [{ ...base, account: () => p.manyToOne(Role).deleteRule('cascade') }, /must refer by "account" to Account/],
  ] as const;
  for (const [properties, message] of candidates) {
    const passkeys = defineEntity({ name: 'A', properties: properties as typeof base });
    const orm = await openSqlite(t, { entities: [Account, Role, passkeys] });
    const app = fastify();
    await app.register(viewset, { orm });
    await t.rejects(async () => app.register(auth, { ...good, passkeys } as AuthOptions), {
      name: 'ImproperlyConfigured',
      message,
    });
    await app.close().catch(() => {});
  }
});

t.test('errors of the option "passkeys" name what is wrong', async (t) => {
  const orm = await openSqlite(t, { entities });
  const wrong = [
    [{}, /option "entity" must be the entity of passkeys/],
    [{ entity: Account, domain: 'x' }, /domain/],
    [{ entity: Account, rpName: '' }, /option "rpName" must be a name/],
    [{ entity: Account, origins: ['https://example.com'] }, /"origins" needs "rpId"/],
    ...['https://example.com', 'example.com:8443', 'Example.com', '127.0.0.1', '', 5].map(
      (rpId) => [{ entity: Account, rpId }, /option "rpId" must be a domain/] as const,
    ),
    ...[[], ['https://example.com/'], ['https://evil-example.com'], ['https://example.com.evil'], 'x'].map(
      (origins) =>
        [{ entity: Account, rpId: 'example.com', origins }, /option "origins" must be a list of origins/] as const,
    ),
  ] as const;
  for (const [passkeys, message] of wrong) {
    const app = fastify();
    await app.register(viewset, { orm });
    await t.rejects(async () => app.register(auth, { ...good, passkeys } as unknown as AuthOptions), {
      name: 'ImproperlyConfigured',
      message,
    });
    await app.close().catch(() => {});
  }
});

t.test('an entity that cannot serve as the session is refused, by the property that it lacks', async (t) => {
  const base = {
    id: p.uuid().primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade'),
    token_hash: p.string().length(43),
    created_at: p.datetime(),
    last_used_at: p.datetime(),
    expires_at: p.datetime(),
    ip: p.string().length(45),
    user_agent: p.string().length(255).nullable(),
  };
  const { ip: _ip, ...withoutIp } = base;
  const candidates = [
    [defineEntity({ name: 'A', properties: withoutIp }), /option "sessions" must have the properties .*; A has no ip/],
    [
      defineEntity({ name: 'B', properties: { ...base, token_hash: p.string().length(20) } }),
      /43 characters, in "token_hash"/,
    ],
    [defineEntity({ name: 'C', properties: { ...base, account: p.integer() } }), /C\.account is none/],
    [
      defineEntity({ name: 'D', properties: { ...base, account: () => p.manyToOne(Role) } }),
      /must refer by "account" to Account/,
    ],
    [
      defineEntity({ name: 'E', properties: { ...base, account: () => p.manyToOne(Account) } }),
      /E\.account needs deleteRule\('cascade'\)/,
    ],
    [
      defineEntity({ name: 'F', properties: { ...base, id: p.uuid(), key: p.integer().primary() } }),
      /"id" as its primary key/,
    ],
  ] as const;
  for (const [sessions, message] of candidates) {
    const orm = await openSqlite(t, { entities: [Account, Role, sessions] });
    const app = fastify();
    await app.register(viewset, { orm });
    await t.rejects(async () => app.register(auth, { ...good, sessions } as AuthOptions), {
      name: 'ImproperlyConfigured',
      message,
    });
    await app.close().catch(() => {});
  }
});

t.test('the option "tokenScheme" names a scheme accepted in addition to Bearer', async (t) => {
  const app = await startApp(t, await openSqlite(t, { entities }), { tokenScheme: 'Token' });
  await app.addAccount('ann@example.com');
  const token = await app.login('ann@example.com');
  const me = (authorization: string) => app.request('GET', '/me', { headers: { authorization } });
  t.equal((await me(`Token ${token}`)).status, 200);
  t.equal((await me(`Bearer ${token}`)).status, 200);
  const refused = await me('Token x');
  t.equal(refused.status, 401);
  t.equal(refused.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  t.equal((await me(`Basic ${token}`)).status, 401);
});

t.test('without viewset registered before, the plugin fails and names it', async (t) => {
  const app = fastify();
  t.teardown(() => app.close());
  await t.rejects(async () => app.register(auth, good), /@viewset\/core/);
});

t.test('the routes are below the prefix and have names', async (t) => {
  const orm = await openSqlite(t, { entities });
  const app = await startApp(t, orm, { urlPrefix: '/api/auth/' });
  t.equal((await app.post('/api/auth/login', {})).status, 401);
  t.equal((await app.post('/api/auth/login/', {})).status, 401);
  t.equal((await app.post('/api/auth/register', {})).status, 400);
  t.equal((await app.post('/auth/login', {})).status, 404);
  t.equal(app.app.viewset.routeNames.reverse('auth-login'), '/api/auth/login');
  t.equal(app.app.viewset.routeNames.reverse('auth-send-verification-email'), '/api/auth/send-verification-email');
});

for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const) {
  t.test(`${algorithm}, with a key pair`, async (t) => {
    const kinds = {
      RS256: { type: 'rsa', bits: 2048 },
      ES256: { type: 'ec', curve: 'P-256' },
      EdDSA: { type: 'ed25519' },
    } as const;
    const orm = await openSqlite(t, { entities });
    const app = await startApp(t, orm, { algorithm, keys: makeKeys(kinds[algorithm]) });
    await app.addAccount('ann@example.com');
    const token = await app.login('ann@example.com');
    t.match(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString(), `"alg":"${algorithm}"`);
    t.equal((await app.get('/me', token)).status, 200);
  });
}

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly entry?: string;
}

/** Starts an application with the plugin and with routes before and after it, and answers its log from warnings on. */
async function startLogged(
  t: Test,
  orm: MikroORM,
  options: AuthOptions,
  routes: { before?: string[]; after?: string[]; router?: Router } = {},
): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as never) };
  const app = fastify({ ...serverOptions(), logger: { level: 'warn', stream } });
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  for (const url of routes.before ?? []) app.get(url, async () => url);
  await app.register(auth, options);
  for (const url of routes.after ?? []) app.get(url, async () => url);
  if (routes.router !== undefined) await app.register(routes.router.plugin);
  await app.ready();
  return lines;
}

t.test('an entry of nonAuthEndpoints that opens no route is a warning that names it', async (t) => {
  const orm = await openSqlite(t, { entities });
  const matching = [
    '/auth/login',
    'POST /auth/register/',
    '/health',
    'GET /health/',
    '/health/*',
    'GET /late/1',
    '/late/*',
    'GET /la*',
    '/files/a/b',
    '/files/*',
    'OPTIONS /late/1',
    '/caf%C3%A9',
    'HEAD /early',
    '*',
  ];
  const missing = ['/auth/logn', 'GET /auth/login', 'DELETE /late/1', '/late', '/pubilc/*', 'POST /health', '/early/1'];
  const lines = await startLogged(
    t,
    orm,
    { ...good, nonAuthEndpoints: [...matching, ...missing] },
    {
      before: ['/early'],
      after: ['/late/:pk', '/files/*', '/café'],
    },
  );
  const named = lines.map(({ entry }) => entry);
  t.strictSame(new Set(named), new Set(missing));
  t.equal(named.length, missing.length);
  t.match(lines[0], {
    level: 40,
    msg: /^auth: no route has the path ".+" of option "nonAuthEndpoints" \(NON_AUTH_ENDPOINTS\)$/,
  });
});

t.test('the page lists every option once', async (t) => {
  const text = readFileSync(new URL('../../../../docs/authentication.md', import.meta.url), 'utf8');
  const [, section = ''] = text.split('\n## Every option of auth\n');
  const rows = section.slice(0, section.search(/\n#{2,3} /)).matchAll(/^\| (`[^|]+) \|/gm);
  const named = [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  t.equal(named.length, OPTION_NAMES.length);
  t.strictSame(new Set(named), new Set(OPTION_NAMES));
});

t.test('a sign-up of the application without a token is a warning beside oauth', async (t) => {
  const orm = await openSqlite(t, { entities: [...entities, Identity] });
  const read = readShape(Account, ['id', 'email']);
  const shapes = {
    read,
    write: writeShape(Account, ['email', 'password', 'name']),
    operations: ['create', 'list'],
  } as const;
  class SignUp extends ModelViewSet(Account, { ...shapes, permissionClasses: [AllowAny] }) {}
  class Listed extends ModelViewSet(Account, { ...shapes, permissionClasses: [] }) {}
  class Members extends ModelViewSet(Account, { ...shapes, permissionClasses: [IsAuthenticated] }) {}
  class Roles extends ModelViewSet(Role, {
    read: readShape(Role, ['id']),
    write: writeShape(Role, ['name']),
    permissionClasses: [AllowAny],
  }) {}
  const router = () =>
    new Router()
      .register('sign-up', SignUp)
      .register('listed', Listed)
      .register('members', Members)
      .register('closed', class Closed extends Listed {})
      .register('roles', Roles);
  const options = { ...good, nonAuthEndpoints: ['POST /listed/*', 'POST /members/*', 'POST /listed', 'POST /members'] };
  const oauth = {
    identity: Identity,
    providers: { main: { issuer: 'https://id.example.com', clientId: 'x', clientSecret: 'y' } },
  };
  const lines = await startLogged(t, orm, { ...options, oauth }, { router: router() });
  const warnings = lines.filter(({ msg }) => msg.includes('creates accounts without a token'));
  t.match(warnings, [
    { level: 40, view: 'SignUp', route: /^POST \/sign-up\/?$/, msg: /"oauth".*app\.auth\.codes/ },
    { level: 40, view: 'Listed' },
  ]);
  t.equal(warnings.length, 2);
  const without = await startLogged(t, orm, options, { router: router() });
  t.strictSame(
    without.filter(({ msg }) => msg.includes('creates accounts')),
    [],
  );
});

t.test('applications that share an ORM share one subscriber, and its cost', async (t) => {
  const orm = await openSqlite(t, { entities });
  const subscribers = ({ em }: MikroORM): number =>
    [...em.getEventManager().getSubscribers()].filter(
      (subscriber) => subscriber.constructor.name === 'AccountSubscriber',
    ).length;
  t.strictSame(await startLogged(t, orm, good), []);
  t.strictSame(await startLogged(t, orm, good), []);
  const lines = await startLogged(t, orm, { ...good, bcryptRounds: 5 });
  t.match(lines, [{ level: 40, msg: /"bcryptRounds" differs/, bcryptRounds: 5, used: 4 }]);
  t.equal(subscribers(orm), 1);
  const other = await openSqlite(t, { entities });
  await startLogged(t, other, good);
  t.equal(subscribers(other), 1, 'another ORM has its own');
});

t.test('without a store of its own, the plugin uses that of viewset, unless it belongs to one process', async (t) => {
  const orm = await openSqlite(t, { entities });
  const run = async (shared: Store, own?: Store): Promise<void> => {
    const app = fastify();
    t.teardown(() => app.close());
    await app.register(viewset, { orm, store: shared });
    await app.register(auth, { ...good, ...(own && { store: own }) });
    const payload = { email: 'ann@example.com' };
    t.equal((await app.inject({ method: 'POST', url: '/auth/send-verification-email', payload })).statusCode, 200);
  };
  const recording = (keys: string[]): Store => {
    const memory = new MemoryStore();
    t.teardown(() => memory.close());
    return {
      hit: async (key, ...rest) => (keys.push(key), memory.hit(key, ...rest)),
      peek: async (...rest) => memory.peek(...rest),
      undo: async (...rest) => memory.undo(...rest),
      put: async (key, ...rest) => (keys.push(key), memory.put(key, ...rest)),
      read: async (...rest) => memory.read(...rest),
      take: async (...rest) => memory.take(...rest),
      remove: async (...rest) => memory.remove(...rest),
    };
  };
  const [shared, own]: [string[], string[]] = [[], []];
  await run(recording(shared));
  t.ok(shared.some((key) => key.startsWith('auth:code:')));
  shared.length = 0;
  await run(recording(shared), recording(own));
  t.strictSame([shared, own.some((key) => key.startsWith('auth:code:'))], [[], true]);
  const memory = new MemoryStore();
  t.teardown(() => memory.close());
  await run(memory);
  t.equal(memory.size, 0, 'a memory is not shared');
});
