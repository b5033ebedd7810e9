import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { HeaderRateLimit, IPRateLimit, PathRateLimit, UserRateLimit } from '../../src/throttle/built-in-rules.ts';
import { RateLimitRule } from '../../src/throttle/rate-limit-rule.ts';

interface RequestParts {
  readonly ip?: string;
  readonly user?: { readonly id: number | string | bigint } | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly route?: string;
}

/** As much of a request as rules read. */
function request({ route, ...parts }: RequestParts): FastifyRequest {
  return {
    method: 'GET',
    headers: {},
    user: null,
    routeOptions: { url: route },
    ...parts,
  } as unknown as FastifyRequest;
}

t.test('an IP rule separates addresses, and IPv6 by /64', async (t) => {
  const rule = new IPRateLimit(1, 1);
  t.equal(rule.phase, 'address');
  t.equal(rule.key(request({ ip: '::ffff:192.0.2.1' })), '192.0.2.1');
  t.equal(rule.key(request({ ip: '2001:db8::1' })), rule.key(request({ ip: '2001:db8::2' })));
  t.equal(rule.key(request({})), undefined, 'no address: no rule');
});

t.test('a user rule counts logged-in users only', async (t) => {
  const rule = new UserRateLimit(1, 1);
  t.equal(rule.phase, 'user');
  t.equal(rule.key(request({ ip: '192.0.2.1' })), undefined);
  t.equal(rule.key(request({ user: { id: 7 } })), '7');
  t.equal(rule.key(request({ user: { id: 2n ** 60n } })), '1152921504606846976');
});

t.test('a header rule separates values without storing them', async (t) => {
  const rule = new HeaderRateLimit(1, 1, { header: 'X-API-Key' });
  const key = rule.key(request({ headers: { 'x-api-key': 'secret' } }));
  t.match(key, /^[\w-]{43}$/);
  t.equal(rule.key(request({ headers: { 'x-api-key': 'secret' } })), key);
  t.not(rule.key(request({ headers: { 'x-api-key': 'other' } })), key);
  t.equal(rule.key(request({ headers: { 'x-api-key': 'x'.repeat(10_000) } }))?.length, 43);
  t.equal(rule.key(request({})), undefined);
  t.equal(rule.key(request({ headers: { 'x-api-key': '' } })), undefined);
});

t.test('a path rule without a path counts each route by itself', async (t) => {
  const rule = new PathRateLimit(1, 1);
  const ip = '192.0.2.1';
  t.not(rule.key(request({ ip, route: '/a' })), rule.key(request({ ip, route: '/b' })));
  t.not(rule.key(request({ ip, route: '/a' })), rule.key(request({ ip: '192.0.2.2', route: '/a' })));
  t.equal(rule.key(request({ ip })), undefined, 'no route: no rule');
});

t.test('a path rule with a path counts the routes that fit, together', async (t) => {
  const ip = '192.0.2.1';
  const fits = (path: string, method: string, route: string): boolean =>
    new PathRateLimit(1, 1, { path }).key(request({ ip, method, route })) === ip;
  t.ok(fits('/api/login', 'POST', '/api/login'));
  t.ok(fits('/api/login', 'GET', '/api/login/'));
  t.ok(fits('/api/login/', 'GET', '/api/login'));
  t.notOk(fits('/api/login', 'POST', '/api/login/now'));
  t.ok(fits('/api/products/:pk', 'GET', '/api/products/:pk'));
  t.ok(fits('/api/auth/*', 'POST', '/api/auth/login'));
  t.ok(fits('/api/auth/*', 'POST', '/api/auth'));
  t.notOk(fits('/api/auth/*', 'POST', '/api/authors'));
  t.ok(fits('/api/auth*', 'POST', '/api/authors'));
  t.ok(fits('/*', 'GET', '/'));
  t.ok(fits('POST /api/login', 'POST', '/api/login'));
  t.notOk(fits('POST /api/login', 'GET', '/api/login'));
  t.ok(fits('GET /api/login', 'HEAD', '/api/login'));
});

t.test('an application can define custom rules', async (t) => {
  class TenantRateLimit extends RateLimitRule {
    override key({ headers }: FastifyRequest): string | undefined {
      return headers['x-tenant'] as string | undefined;
    }
  }
  const rule = new TenantRateLimit(5, 10);
  t.equal(rule.key(request({ headers: { 'x-tenant': 'a' } })), 'a');
  t.equal(rule.phase, 'address');
  t.equal(rule.label, 'TenantRateLimit(5, 10)');
});

t.test('wrong arguments are refused with the rule and the argument named', async (t) => {
  for (const wrong of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 31, '100', undefined, null] as number[]) {
    t.throws(() => new IPRateLimit(wrong, 60), {
      name: 'ImproperlyConfigured',
      message: `IPRateLimit: count (its first argument) must be a positive whole number up to 2147483647, got ${typeof wrong === 'string' ? '"100"' : String(wrong)}`,
    });
    t.throws(() => new UserRateLimit(100, wrong), { message: /^UserRateLimit: windowSeconds \(its second argument\)/ });
  }
  t.throws(() => new IPRateLimit(1, 1, { failclosed: true } as object), { message: /did you mean "failClosed"/ });
  t.throws(() => new IPRateLimit(1, 1, { failClosed: 'yes' as never }), {
    message: /"failClosed" must be true or false/,
  });
  t.throws(() => new IPRateLimit(1, 1, { name: '' }), { message: /"name" must be a non-empty string/ });
  t.throws(() => new IPRateLimit(1, 1, { store: {} as never }), { message: /"store" must be a Store/ });
  t.throws(() => new HeaderRateLimit(1, 1, {} as never), { message: /"header" must be the name of a header/ });
  t.throws(() => new HeaderRateLimit(1, 1, undefined as never), { message: /"header" must be the name of a header/ });
  t.throws(() => new HeaderRateLimit(1, 1, { header: 'a b' }), {
    message: /"header" must be the name of a header, got "a b"/,
  });
  for (const path of ['login', 'post /login', '/a*b', 'POST  /x', '', 'POST']) {
    t.throws(() => new PathRateLimit(1, 1, { path }), { message: /"path" must be a path such as/ });
  }
});
