import fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify';
import t from 'tap';
import type { HttpError } from '../../src/errors/errors.ts';
import { MemoryStore } from '../../src/stores/memory-store.ts';
import type { Store } from '../../src/stores/store.ts';
import { StoreUnavailable } from '../../src/stores/store.ts';
import { HeaderRateLimit, IPRateLimit, UserRateLimit } from '../../src/throttle/built-in-rules.ts';
import { RateLimitRule } from '../../src/throttle/rate-limit-rule.ts';
import { RequestLimiter, type RuleList } from '../../src/throttle/request-limiter.ts';

const silent = { warn() {} };

class Clocked {
  now = 0;
  readonly store = new MemoryStore({ clock: () => this.now });
}

/** The same store, answering later: what a network does. */
function later(store: Store): Store {
  return {
    hit: async (...args) => store.hit(...args),
    peek: async (...args) => store.peek(...args),
    undo: async (...args) => store.undo(...args),
    put: async (...args) => store.put(...args),
    read: async (...args) => store.read(...args),
    take: async (...args) => store.take(...args),
    remove: async (...args) => store.remove(...args),
  };
}

/** A store that is down. */
function down(async: boolean): Store {
  const fail = (): never => {
    throw new StoreUnavailable(new Error('connection refused'));
  };
  const failLater = async (): Promise<never> => fail();
  const operation = async ? failLater : fail;
  return {
    hit: operation,
    peek: operation,
    undo: operation,
    put: operation,
    read: operation,
    take: operation,
    remove: operation,
  };
}

/** An application that logs in whoever says so in `x-user`. */
function application(limiter: RuleList): FastifyInstance {
  const app = fastify();
  app.decorateRequest('user', null);
  app.addHook('onRequest', async (request, reply) => limiter.check('address', request, reply));
  app.addHook('onRequest', async (request) => {
    const id = request.headers['x-user'];
    if (id !== undefined) request.user = { id: Number(id) } as typeof request.user;
  });
  app.addHook('onRequest', async (request, reply) => limiter.check('user', request, reply));
  app.setErrorHandler((error: HttpError, _request, reply) => {
    void reply.code(error.statusCode).headers(error.headers).send(error.toBody());
  });
  app.get('/', async () => 'ok');
  return app;
}

function limitHeaders({ statusCode, headers }: LightMyRequestResponse): unknown[] {
  return [
    statusCode,
    headers['ratelimit-limit'],
    headers['ratelimit-remaining'],
    headers['ratelimit-reset'],
    headers['retry-after'],
  ];
}

for (const [kind, wrap] of [
  ['at once', (store: Store) => store],
  ['later', later],
] as const) {
  t.test('the maximum may depend on the request, and so may whether it is counted', async (t) => {
    const clocked = new Clocked();
    const rules = [
      new UserRateLimit(1, 60, {
        countFor: ({ user }) => (user?.id === 7 ? 3 : undefined),
        skip: ({ headers }) => headers['x-partner'] === 'yes',
      }),
    ];
    const app = application(new RequestLimiter({ rules, store: clocked.store, log: silent }));
    t.teardown(() => app.close());
    const send = (user: number, partner = 'no') =>
      app.inject({ url: '/', headers: { 'x-user': String(user), 'x-partner': partner } });
    t.match((await send(1)).headers, { 'ratelimit-limit': '1', 'ratelimit-remaining': '0' });
    t.match(await send(1), { statusCode: 429, headers: { 'ratelimit-limit': '1' } });
    for (const remaining of ['2', '1', '0']) {
      t.match(await send(7), {
        statusCode: 200,
        headers: { 'ratelimit-limit': '3', 'ratelimit-remaining': remaining },
      });
    }
    t.match(await send(7), { statusCode: 429, headers: { 'ratelimit-limit': '3' } });
    const skipped = await send(7, 'yes');
    t.equal(skipped.statusCode, 200);
    t.equal(skipped.headers['ratelimit-limit'], undefined);
  });

  t.test('a wrong maximum, and a wrong answer of skip, are errors of the program', async (t) => {
    const wrongs: readonly (readonly [object, RegExp])[] = [
      [{ countFor: () => 0 }, /countFor\(\) must be a positive whole number/],
      [{ countFor: () => Number.NaN }, /countFor\(\) must be a positive whole number/],
      [{ countFor: async () => 3 }, /countFor\(\)/],
      [{ skip: () => 'yes' }, /skip\(\) must return true or false, got "yes"/],
      [{ skip: async () => false }, /skip\(\)/],
    ];
    for (const [options, message] of wrongs) {
      const rules = [new IPRateLimit(1, 60, options)];
      const limiter = new RequestLimiter({ rules, store: new MemoryStore(), log: silent });
      const request = { ip: '192.0.2.1', headers: {} } as never;
      t.throws(() => limiter.check('address', request, {} as never), { code: 'improperly_configured', message });
    }
    t.throws(() => new IPRateLimit(1, 60, { skip: true } as never), /skip/);
    t.throws(() => new IPRateLimit(1, 60, { countFor: 5 } as never), /countFor/);
  });

  t.test(`with a store that returns ${kind}`, async (t) => {
    t.test('every response has the headers, and waiting for the given time succeeds', async (t) => {
      const clocked = new Clocked();
      const rules = [new IPRateLimit(2, 60)];
      const app = application(new RequestLimiter({ rules, store: wrap(clocked.store), log: silent }));
      t.same(limitHeaders(await app.inject('/')), [200, '2', '1', '60', undefined]);
      clocked.now += 10_500;
      t.same(limitHeaders(await app.inject('/')), [200, '2', '0', '50', undefined]);
      clocked.now += 500;
      const refused = await app.inject('/');
      t.same(limitHeaders(refused), [429, '2', '0', '49', '49']);
      t.same(refused.json(), { error: 'Too many requests', code: 'too_many_requests' });
      clocked.now += 48_999;
      t.same(limitHeaders(await app.inject('/')), [429, '2', '0', '1', '1']);
      clocked.now += 1;
      t.same(limitHeaders(await app.inject('/')), [200, '2', '0', '11', undefined]);
    });

    t.test('clients do not share a bucket', async (t) => {
      const rules = [new IPRateLimit(1, 60)];
      const app = application(new RequestLimiter({ rules, store: wrap(new Clocked().store), log: silent }));
      const get = async (remoteAddress: string): Promise<number> =>
        (await app.inject({ url: '/', remoteAddress })).statusCode;
      t.equal(await get('192.0.2.1'), 200);
      t.equal(await get('::ffff:192.0.2.1'), 429);
      t.equal(await get('192.0.2.2'), 200);
      t.equal(await get('2001:db8:1:2::1'), 200);
      t.equal(await get('2001:db8:1:2::2'), 429);
      t.equal(await get('2001:db8:1:3::1'), 200);
    });

    t.test('the headers are those of the rule closest to its limit, over both phases', async (t) => {
      const rules = [new IPRateLimit(100, 60), new UserRateLimit(5, 600)];
      const app = application(new RequestLimiter({ rules, store: wrap(new Clocked().store), log: silent }));
      t.same(
        limitHeaders(await app.inject('/')),
        [200, '100', '99', '60', undefined],
        'anonymous: the user rule does not apply',
      );
      t.same(limitHeaders(await app.inject({ url: '/', headers: { 'x-user': '1' } })), [
        200,
        '5',
        '4',
        '600',
        undefined,
      ]);
      for (let i = 0; i < 95; i++) await app.inject('/');
      t.same(limitHeaders(await app.inject({ url: '/', headers: { 'x-user': '1' } })), [
        200,
        '100',
        '2',
        '60',
        undefined,
      ]);
      t.same(limitHeaders(await app.inject({ url: '/', headers: { 'x-user': '2' } })), [
        200,
        '100',
        '1',
        '60',
        undefined,
      ]);
    });

    t.test('a rule that refuses costs the others of its phase nothing', async (t) => {
      const clocked = new Clocked();
      const header = new HeaderRateLimit(1, 5, { header: 'x-key' });
      const rules = [new IPRateLimit(3, 60), header, new IPRateLimit(10, 60, { name: 'second' })];
      const app = application(new RequestLimiter({ rules, store: wrap(clocked.store), log: silent }));
      const withKey = async (): Promise<LightMyRequestResponse> => app.inject({ url: '/', headers: { 'x-key': 'k' } });
      t.same(limitHeaders(await withKey()), [200, '1', '0', '5', undefined]);
      for (let i = 0; i < 20; i++) t.same(limitHeaders(await withKey()), [429, '1', '0', '5', '5']);
      t.same(
        limitHeaders(await app.inject('/')),
        [200, '3', '1', '60', undefined],
        'twenty refusals cost the IP rules nothing',
      );
    });

    t.test('a refused client receives the longest wait of all rules', async (t) => {
      const clocked = new Clocked();
      const rules = [new IPRateLimit(2, 1), new IPRateLimit(2, 100)];
      const app = application(new RequestLimiter({ rules, store: wrap(clocked.store), log: silent }));
      await app.inject('/');
      await app.inject('/');
      t.same(limitHeaders(await app.inject('/')), [429, '2', '0', '100', '100']);
    });

    t.test('the wait of a refused user includes that of the address if this request used it up', async (t) => {
      const rules = [new IPRateLimit(2, 50), new UserRateLimit(1, 10)];
      const app = application(new RequestLimiter({ rules, store: wrap(new Clocked().store), log: silent }));
      const headers = { 'x-user': '1' };
      t.same(limitHeaders(await app.inject({ url: '/', headers })), [200, '1', '0', '10', undefined]);
      t.same(limitHeaders(await app.inject({ url: '/', headers })), [429, '2', '0', '50', '50']);
    });

    t.test('combined limiters refuse as one', async (t) => {
      const { store } = new Clocked();
      const limiterOf = (scope: string, rule: RateLimitRule): RequestLimiter =>
        new RequestLimiter({ scope, rules: [rule], store: wrap(store), log: silent });
      const all = RequestLimiter.combine([
        limiterOf('app', new IPRateLimit(5, 60)),
        limiterOf('view', new IPRateLimit(1, 60)),
      ]);
      const app = application(all);
      t.same(limitHeaders(await app.inject('/')), [200, '1', '0', '60', undefined]);
      for (let i = 0; i < 5; i++) t.equal((await app.inject('/')).statusCode, 429);
      const alone = application(limiterOf('app', new IPRateLimit(5, 60)));
      t.same(limitHeaders(await alone.inject('/')), [200, '5', '3', '60', undefined]);
    });

    t.test('throttleRate returns true or false', async (t) => {
      const limiter = new RequestLimiter({
        rules: [new IPRateLimit(1, 60)],
        store: wrap(new Clocked().store),
        log: silent,
      });
      const app = fastify();
      app.get('/', async (request) => limiter.throttleRate(request));
      t.equal((await app.inject('/')).body, 'true');
      t.equal((await app.inject('/')).body, 'false');
    });
  });
}

for (const [kind, async] of [
  ['throws', false],
  ['rejects', true],
] as const) {
  t.test(`when the store is down and ${kind}`, async (t) => {
    t.test('requests are allowed, and the log says so once', async (t) => {
      const lines: unknown[][] = [];
      const log = { warn: (...line: unknown[]) => void lines.push(line) };
      const app = application(new RequestLimiter({ rules: [new IPRateLimit(1, 60)], store: down(async), log }));
      for (let i = 0; i < 5; i++) {
        t.same(limitHeaders(await app.inject('/')), [200, undefined, undefined, undefined, undefined]);
      }
      t.equal(lines.length, 1);
      t.match(lines[0], [
        { err: { message: 'connection refused' }, rule: 'IPRateLimit(1, 60)', uncounted: 1 },
        /pass uncounted/,
      ]);
    });

    t.test('the other rules still count', async (t) => {
      const rules = [new IPRateLimit(1, 60, { store: down(async) }), new IPRateLimit(1, 60)];
      const app = application(new RequestLimiter({ rules, store: new Clocked().store, log: silent }));
      t.same(limitHeaders(await app.inject('/')), [200, '1', '0', '60', undefined]);
      t.same(limitHeaders(await app.inject('/')), [429, '1', '0', '60', '60']);
    });

    t.test('a rule with failClosed returns 503', async (t) => {
      const rules = [new IPRateLimit(1, 60, { failClosed: true })];
      const app = application(new RequestLimiter({ rules, store: down(async), log: silent }));
      const response = await app.inject('/');
      t.equal(response.statusCode, 503);
      t.same(response.json(), { error: 'The service is temporarily unavailable', code: 'service_unavailable' });
    });

    t.test('a refusal stays a refusal', async (t) => {
      const { store } = new Clocked();
      const rules = [new IPRateLimit(1, 60), new IPRateLimit(1, 60, { store: down(async), failClosed: true })];
      const app = application(new RequestLimiter({ rules, store, log: silent }));
      t.equal((await app.inject('/')).statusCode, 503);
      t.equal((await app.inject('/')).statusCode, 429, 'the first rule refuses before the second is asked');
    });
  });
}

t.test('two rules never share a counter', async (t) => {
  const { store } = new Clocked();
  const rule = new IPRateLimit(1, 60);
  const limiterOf = (scope: string, ...rules: RateLimitRule[]): FastifyInstance =>
    application(new RequestLimiter({ scope, rules, store, log: silent }));
  t.equal((await limiterOf('one', rule).inject('/')).statusCode, 200);
  t.equal(
    (await limiterOf('one', rule).inject('/')).statusCode,
    429,
    'the same scope and place: the same counter, as in another process',
  );
  t.equal((await limiterOf('two', rule).inject('/')).statusCode, 200, 'another view');
  t.equal((await limiterOf('three', rule, new IPRateLimit(1, 60)).inject('/')).statusCode, 200, 'another place');
  t.equal((await limiterOf('a:b', new IPRateLimit(1, 60, { name: 'c' })).inject('/')).statusCode, 200);
  t.equal(
    (await limiterOf('a', new IPRateLimit(1, 60, { name: 'b:c' })).inject('/')).statusCode,
    200,
    'names do not run into each other',
  );
});

t.test('keys stay short, and different keys never collide', async (t) => {
  class BodyKey extends RateLimitRule {
    override key({ headers }: { headers: Record<string, unknown> }): string {
      return String(headers['x-key']);
    }
  }
  const seen: string[] = [];
  const { store } = new Clocked();
  const spy: Store = Object.assign(Object.create(store) as Store, {
    hit: (key: string, limit: number, windowMs: number) => {
      seen.push(key);
      return store.hit(key, limit, windowMs);
    },
  });
  const app = application(new RequestLimiter({ rules: [new BodyKey(1, 60)], store: spy, log: silent }));
  const get = async (key: string): Promise<number> =>
    (await app.inject({ url: '/', headers: { 'x-key': key } })).statusCode;
  t.equal(await get('x'.repeat(10_000)), 200);
  t.equal(await get(`${'x'.repeat(10_000)}y`), 200);
  t.equal(await get('x'.repeat(10_000)), 429);
  t.equal(
    await get(seen[0]!.slice(seen[0]!.indexOf('#'))),
    200,
    'a client that sends the hash itself has its own counter',
  );
  t.ok(
    seen.every((key) => key.length < 100),
    seen.join(' '),
  );
});

t.test('throttling is synchronous if the store is', async (t) => {
  const limiter = new RequestLimiter({ rules: [new IPRateLimit(100, 60)], store: new MemoryStore(), log: silent });
  const app = fastify();
  app.addHook('onRequest', (request, reply, done) => {
    t.equal(limiter.check('address', request, reply), undefined);
    t.equal(limiter.check('user', request, reply), undefined);
    done();
  });
  app.get('/', async () => 'ok');
  t.equal((await app.inject('/')).headers['ratelimit-remaining'], '99');
  t.ok(limiter.has('address'));
  t.notOk(limiter.has('user'));
});

t.test('a value that is not a rule is rejected', async (t) => {
  const options = { store: new MemoryStore(), log: silent, scope: 'products' };
  t.throws(() => new RequestLimiter({ ...options, rules: [IPRateLimit as never] }), {
    name: 'ImproperlyConfigured',
    message:
      /^RequestLimiter of products: option "rules\[0\]" must be a rule such as new IPRateLimit\(100, 60\), got the function IPRateLimit/,
  });
  t.throws(() => new RequestLimiter({ ...options, rules: null as never }), { message: /"rules" must be a list/ });
  t.throws(() => new RequestLimiter({ ...options, rules: [], store: {} as never }), {
    message: /"store" must be a Store/,
  });
  t.throws(() => new RequestLimiter({ ...options, rules: [], stor: 1 } as never), { message: /did you mean "store"/ });
  const same = [new IPRateLimit(1, 1, { name: 'a' }), new UserRateLimit(1, 1, { name: 'a' })];
  t.throws(() => new RequestLimiter({ ...options, rules: same }), { message: /two rules are named "a"/ });
});
