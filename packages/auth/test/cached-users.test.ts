import type { EntityManager } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { AccountUser } from '../src/accounts/accounts.ts';
import { CachedUsers, MAX_CACHED_USERS } from '../src/accounts/cached-users.ts';

const em = {} as EntityManager;
const request = { reader: em } as FastifyRequest;

/** Five seconds' cache of a source that counts its calls and takes `delayMs` for each. */
function setUp() {
  const state = { now: 0, asked: [] as unknown[], delayMs: 0, found: true };
  const source = {
    user: async (_request: FastifyRequest, id: unknown): Promise<AccountUser | null> => {
      state.asked.push(id);
      state.now += state.delayMs;
      const role = { id: 1, name: 'admin' };
      return state.found ? new AccountUser({ id: id as number, email: 'x', name: 'x', is_active: true, role }) : null;
    },
  };
  return { state, users: new CachedUsers(source, em, { seconds: 5, clock: () => state.now }) };
}

t.test('a user is reused until the time is over, and is then loaded again', async (t) => {
  const { state, users } = setUp();
  const first = await users.user(request, 1);
  state.now = 4999;
  t.equal(await users.user(request, 1), first, 'the very same');
  t.strictSame(state.asked, [1]);
  state.now = 5000;
  t.not(await users.user(request, 1), first);
  t.strictSame(state.asked, [1, 1]);
  await users.user(request, 2);
  t.strictSame(state.asked, [1, 1, 2], 'another user is another question');
  t.equal(users.size, 2);
});

t.test('the time counts from before the question', async (t) => {
  const { state, users } = setUp();
  state.delayMs = 3000;
  await users.user(request, 1);
  state.now = 4999;
  await users.user(request, 1);
  t.equal(state.asked.length, 1);
  state.now = 5000;
  await users.user(request, 1);
  t.equal(state.asked.length, 2);
  state.delayMs = 6000;
  await users.user(request, 2);
  await users.user(request, 2);
  t.equal(state.asked.length, 4, 'an answer that took longer than it would be kept is not used again');
});

t.test('objects shared between requests are frozen', async (t) => {
  const { users } = setUp();
  const user = (await users.user(request, 1))!;
  t.throws(() => Object.assign(user, { name: 'Eve' }), TypeError);
  t.throws(() => Object.assign(user.role!, { name: 'Eve' }), TypeError);
});

t.test('a missing user is not cached, and ends the entry', async (t) => {
  const { state, users } = setUp();
  await users.user(request, 1);
  state.now = 5000;
  state.found = false;
  t.equal(await users.user(request, 1), null);
  t.equal(users.size, 0);
  t.equal(await users.user(request, 1), null);
  state.found = true;
  t.ok(await users.user(request, 1));
  t.equal(state.asked.length, 4);
});

t.test('a failure is not kept', async (t) => {
  let failures = 1;
  const source = {
    user: async (): Promise<AccountUser> => {
      if (failures-- > 0) throw new Error('the database is down');
      return new AccountUser({ id: 1, email: 'x', name: 'x', is_active: true, role: null });
    },
  };
  const users = new CachedUsers(source, em, { seconds: 5, clock: () => 0 });
  await t.rejects(async () => users.user(request, 1), /database is down/);
  t.match(await users.user(request, 1), { id: 1, role: null });
});

t.test('a request with a separate entity manager neither uses nor adds cached users', async (t) => {
  const { state, users } = setUp();
  const own = { reader: {} } as FastifyRequest;
  await users.user(own, 1);
  t.equal(users.size, 0);
  await users.user(request, 1);
  await users.user(own, 1);
  t.strictSame(state.asked, [1, 1, 1]);
});

t.test('there are never more than so many, and the one found longest ago goes first', async (t) => {
  const { state, users } = setUp();
  for (let id = 1; id <= MAX_CACHED_USERS; id++) await users.user(request, id);
  state.now = 5000;
  await users.user(request, 1);
  t.equal(users.size, MAX_CACHED_USERS, 'one that is found again takes no second place');
  await users.user(request, MAX_CACHED_USERS + 1);
  t.equal(users.size, MAX_CACHED_USERS);
  state.asked.length = 0;
  state.now = 4999;
  for (const id of [1, 3, MAX_CACHED_USERS, MAX_CACHED_USERS + 1]) await users.user(request, id);
  t.strictSame(state.asked, [], 'these are still there');
  await users.user(request, 2);
  t.strictSame(state.asked, [2], 'this one went');
});
