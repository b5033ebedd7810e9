import { MemoryStore, type Store } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import { inspect } from 'node:util';
import t, { type Test } from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { AccountUser, type AuthOptions } from '../../src/index.ts';
import { type Answer, PASSWORD, startApp, type TestApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

/** Everything that a careless callback throws or answers in the place of an error, a payload or a user. */
const FALSY = [undefined, null, false, '', 0, Number.NaN, 0n] as const;
/** Everything else that is no record with an id. */
const TRUTHY = [true, 1, 'ann', [], [{ id: 1 }], () => 1, Symbol('x'), {}, { id: null }] as const;

const entities = [Account, Role];
const ann = new AccountUser({ id: 7, email: 'ann@example.com', name: 'Ann', is_active: true, role: null });
const steps = {
  authenticate: () => ({ user_id: 7 }),
  retrieveUser: () => ann,
  storeUser: (request: { user: unknown }) => void (request.user = ann),
} satisfies Partial<AuthOptions>;

type Ending = (value: unknown) => () => never;

/** The ways in which a callback fails with a value. */
const FAILURES: Readonly<Record<string, Ending>> = {
  throws: (value) => () => {
    throw value;
  },
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the point of this table
  'rejects with': (value) => () => Promise.reject(value) as never,
  'rejects late with': (value) => () => new Promise((_resolve, reject) => setImmediate(reject, value)) as never,
};
/** The ways in which a callback answers with a value. */
const ANSWERS: Readonly<Record<string, Ending>> = {
  answers: (value) => () => value as never,
  'resolves to': (value) => () => Promise.resolve(value) as never,
};

/** Runs a check for every way to end with every value. */
async function forEachEnding(
  endings: Readonly<Record<string, Ending>>,
  check: (callback: () => never, name: string, value: unknown) => Promise<void>,
): Promise<void> {
  for (const [ending, end] of Object.entries(endings)) {
    for (const value of [...FALSY, ...TRUTHY]) await check(end(value), `${ending} ${inspect(value)}`, value);
  }
}

function addRoutes(app: FastifyInstance): void {
  app.get('/open', async (request) => ({ user: request.user }));
  app.post('/write', async () => ({ written: true }));
}

for (const step of ['authenticate', 'retrieveUser', 'storeUser'] as const) {
  t.test(`${step} admits a request only with a valid value`, async (t) => {
    const orm = await openSqlite(t, { entities });
    let callback: () => never;
    const options = { ...steps, [step]: () => callback(), nonAuthEndpoints: ['/open'] };
    const app = await startApp(t, orm, options, addRoutes);
    const check = async (next: () => never, name: string): Promise<void> => {
      callback = next;
      for (const { status, text } of [await app.get('/me'), await app.post('/write', {})]) {
        t.ok(status === 401 || status === 500, `${name}: ${status}`);
        t.notMatch(text, /written|ann@/, name);
      }
      t.notMatch((await app.get('/open')).text, /"id"/, `${name}, on a path that needs no token`);
    };
    await forEachEnding(FAILURES, check);
    await forEachEnding(ANSWERS, async (next, name, value) => {
      // Any object is a payload; retrieveUser says whose.
      if (step !== 'authenticate' || !isRecord(value)) await check(next, name);
    });
  });
}

t.test('a storeUser that sets an invalid user refuses the request', async (t) => {
  const orm = await openSqlite(t, { entities });
  let stored: unknown;
  const storeUser = (request: { user: unknown }): void => void (request.user = stored);
  const app = await startApp(t, orm, { ...steps, storeUser });
  for (stored of [...FALSY, ...TRUTHY]) t.equal((await app.get('/me')).status, 401, inspect(stored));
  stored = ann;
  t.match(await app.get('/me'), { status: 200, body: { user: { id: 7 } } }, 'the table’s tools work');
});

t.test('without a valid time the clock disables the cache of users', async (t) => {
  const orm = await openSqlite(t, { entities });
  let tick: () => number = () => 1;
  const app = await startApp(t, orm, { userCacheSeconds: 300, clock: () => tick() });
  const { id } = await app.addAccount('ann@example.com');
  const token = await app.login('ann@example.com');
  for (const value of FALSY.filter((value) => value !== 0)) {
    await orm.em.fork().nativeUpdate(Account, { id }, { is_active: true });
    tick = ANSWERS['answers']!(value);
    await app.get('/me', token);
    await orm.em.fork().nativeUpdate(Account, { id }, { is_active: false });
    t.not((await app.get('/me', token)).status, 200, `answers ${inspect(value)}`);
    tick = FAILURES['throws']!(value);
    t.equal((await app.get('/me', token)).status, 500, `throws ${inspect(value)}`);
  }
});

const STORE_REQUESTS: Readonly<Record<string, (app: TestApp, email: string, code: string) => Promise<Answer>>> = {
  hit: (app, email) => app.post('/auth/send-verification-email', { email }),
  put: (app, email) => app.post('/auth/send-verification-email', { email }),
  peek: (app, email) => app.post('/auth/login', { email, password: PASSWORD }),
  take: (app, email, code) => app.post('/auth/register', { email, password: PASSWORD, name: 'Eve', code }),
};

for (const [method, request] of Object.entries(STORE_REQUESTS)) {
  t.test(`a store whose ${method} fails without an error value is an error`, async (t) => {
    const orm = await openSqlite(t, { entities });
    const { store, replace } = replaceable(t, method);
    const app = await startApp(t, orm, { store });
    await forEachEnding(method === 'put' ? FAILURES : { ...FAILURES, ...ANSWERS }, async (callback, name) => {
      replace(undefined);
      const email = `${crypto.randomUUID()}@example.com`;
      const code = await app.code(email);
      if (method === 'peek') await app.addAccount(email);
      replace(callback);
      t.ok((await request(app, email, code)).status >= 400, name);
      if (method !== 'peek') t.equal(await app.stored(email), null, 'no account');
    });
  });
}

t.test('a store admits a request only with allowed: true', async (t) => {
  const orm = await openSqlite(t, { entities });
  for (const method of ['peek', 'hit'] as const) {
    const { store, replace } = replaceable(t, method);
    const app = await startApp(t, orm, { store });
    const email = `${method}@example.com`;
    await app.addAccount(email);
    const request = () =>
      method === 'peek'
        ? app.post('/auth/login', { email, password: PASSWORD })
        : app.post('/auth/send-verification-email', { email });
    for (const allowed of [...FALSY, ...TRUTHY, true]) {
      replace((() => ({ allowed, remaining: 5, retryAfterMs: 1000, resetMs: 1000, stamp: 1 })) as () => never);
      t.equal((await request()).status, allowed === true ? 200 : 429, `${method}: ${inspect(allowed)}`);
    }
  }
});

for (const [name, options] of Object.entries({
  mailer: (send: () => never) => ({ mailer: { send } }),
  verificationEmail: (verificationEmail: () => never) => ({ verificationEmail }),
})) {
  t.test(`a ${name} that fails with nothing is an error`, async (t) => {
    const orm = await openSqlite(t, { entities });
    let callback: () => never;
    const app = await startApp(
      t,
      orm,
      options(() => callback()),
    );
    await forEachEnding(FAILURES, async (next, ending) => {
      callback = next;
      const answer = await app.post('/auth/send-verification-email', { email: 'ann@example.com' });
      t.match(answer, { status: Number, body: { code: String, error: String } });
      t.ok(answer.status >= 500, `${ending}: ${answer.status}`);
    });
  });
}

/** A memory store of which one method can be replaced. */
function replaceable(
  t: Test,
  method: string,
): { store: Store; replace: (callback: (() => never) | undefined) => void } {
  const memory = new MemoryStore();
  t.teardown(() => memory.close());
  let replacement: (() => never) | undefined;
  const store = new Proxy<Store>(memory, {
    get(target, name: keyof Store) {
      if (name === method && replacement !== undefined) return replacement;
      return (target[name] as () => unknown).bind(target);
    },
  });
  return { store, replace: (callback) => void (replacement = callback) };
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
