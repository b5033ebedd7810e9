import t, { type Test } from 'tap';
import { isError } from './support/expect.ts';
import type { Answer } from './support/http-client.ts';
import { deadPort } from './support/mail-server.ts';
import { ADMIN, PASSWORD, openShop } from './support/shop.ts';

/** Long enough that no window ends while a test runs. */
const WINDOW = 600;

t.test('an IP rule', async (t) => {
  const shop = await openShop(t, { variables: { THROTTLE_IP: `5/${WINDOW}` } });
  for (let remaining = 4; remaining >= 0; remaining -= 1) {
    const answer = await shop.get('/api/products');
    t.equal(answer.status, 200);
    hasHeaders(t, answer, 5, remaining);
  }
  const refused = await shop.get('/api/products');
  isError(t, refused, 'too_many_requests', 'the sixth');
  hasHeaders(t, refused, 5, 0);
  const retryAfter = Number(refused.headers.get('retry-after'));
  t.ok(retryAfter > WINDOW - 60 && retryAfter <= WINDOW, 'Retry-After: until the first of them leaves the window');
  isError(t, await shop.post('/api/auth/login', ADMIN), 'too_many_requests', 'one counter for every route');
  isError(t, await shop.get('/api/roles', { token: 'bad' }), 'too_many_requests', 'before authentication');
  isError(
    t,
    await shop.request('POST', '/api/auth/login', { body: '{' }),
    'too_many_requests',
    'before the body is parsed',
  );
  isError(t, await shop.get('/api/nothing'), 'not_found', 'after the route');
  isError(t, await shop.delete('/api/products'), 'method_not_allowed', 'after the route');
  for (let request = 0; request < 10; request += 1) {
    const health = await shop.get(request % 2 === 0 ? '/health/' : '/health');
    t.equal(health.status, 200, '/health/ is never throttled');
    t.equal(health.headers.has('ratelimit-limit'), false);
  }
  const spoofed = await shop.get('/api/products', {
    headers: { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.7', forwarded: 'for=203.0.113.7' },
  });
  isError(t, spoofed, 'too_many_requests', 'X-Forwarded-For changes nothing without TRUST_PROXY');
});

t.test('a user rule', async (t) => {
  const shop = await openShop(t, { variables: { THROTTLE_USER: `4/${WINDOW}` } });
  const admin = await shop.login();
  const user = await shop.newUser('user@example.com');
  for (let request = 0; request < 8; request += 1) {
    const answer = await shop.get('/api/products');
    t.equal(answer.status, 200, 'nobody logged in: not counted');
    t.equal(answer.headers.has('ratelimit-limit'), false, 'and no rule applied');
  }
  for (let remaining = 3; remaining >= 0; remaining -= 1) {
    hasHeaders(t, await shop.get('/api/roles', { token: user }), 4, remaining);
  }
  isError(t, await shop.get('/api/roles', { token: user }), 'too_many_requests');
  isError(t, await shop.get('/api/accounts', { token: user }), 'too_many_requests', 'before the permission');
  isError(t, await shop.get('/api/products', { token: user }), 'too_many_requests', 'where a token is not needed, too');
  isError(
    t,
    await shop.get('/api/products', { token: await shop.login({ email: 'user@example.com', password: PASSWORD }) }),
    'too_many_requests',
    'another token of the same user',
  );
  t.equal((await shop.get('/api/roles', { token: admin })).status, 200, 'another user has a counter of their own');
  isError(t, await shop.get('/api/roles', { token: 'bad' }), 'unauthorized', 'nobody');
  t.equal((await shop.get('/health/', { token: user })).status, 200, '/health/ is never throttled');
});

t.test('two rules', async (t) => {
  const shop = await openShop(t, { variables: { THROTTLE_IP: `7/${WINDOW}`, THROTTLE_USER: `3/${WINDOW}` } });
  const token = await shop.login();
  hasHeaders(t, await shop.get('/api/products'), 7, 5, 'one rule applied');
  hasHeaders(t, await shop.get('/api/products', { token }), 3, 2, 'of two, the one that is closest to its limit');
  hasHeaders(t, await shop.get('/api/products', { token }), 3, 1);
  hasHeaders(t, await shop.get('/api/products', { token }), 3, 0);
  isError(t, await shop.get('/api/products', { token }), 'too_many_requests', 'the user rule');
  t.equal(
    (await shop.get('/api/products')).headers.get('ratelimit-limit'),
    '7',
    'the IP rule has a counter of its own',
  );
});

t.test('TRUST_PROXY', async (t) => {
  const shop = await openShop(t, { variables: { THROTTLE_IP: `2/${WINDOW}`, TRUST_PROXY: 'loopback' } });
  const from = (address: string): Promise<Answer> =>
    shop.get('/api/products', { headers: { 'x-forwarded-for': address } });
  const statuses = async (...addresses: string[]): Promise<number[]> => {
    const answers: number[] = [];
    for (const address of addresses) answers.push((await from(address)).status);
    return answers;
  };
  t.same(
    await statuses('203.0.113.1', '203.0.113.1', '203.0.113.1', '203.0.113.2'),
    [200, 200, 429, 200],
    'each client has its own counter',
  );
  t.same(
    await statuses('2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:2:3:4:5:6', '2001:db8:1:3::1'),
    [200, 200, 429, 200],
    'IPv6 addresses count by /64',
  );
  t.same(
    await statuses('::ffff:203.0.113.9', '203.0.113.9', '::ffff:203.0.113.9'),
    [200, 200, 429],
    'an IPv4 address in IPv6 is itself',
  );
  t.same(
    await statuses('9.9.9.9, 203.0.113.20', '8.8.8.8, 203.0.113.20', '7.7.7.7, 203.0.113.20'),
    [200, 200, 429],
    'what a client writes before its own address counts for nothing',
  );
  for (const odd of [
    'nonsense',
    '',
    ',',
    '203.0.113.1:80',
    '[::1]',
    '999.1.1.1',
    'x'.repeat(3000),
    '::',
    'fe80::1%eth0',
  ]) {
    t.ok((await from(odd)).status < 500, `X-Forwarded-For: ${odd.slice(0, 20)}`);
  }
});

t.test('100/60 and 1000/60 by default', async (t) => {
  const shop = await openShop(t, { variables: { THROTTLE_IP: '', THROTTLE_USER: '' } });
  const anonymous = await shop.get('/api/products');
  t.equal(anonymous.headers.get('ratelimit-limit'), '100');
  const token = await shop.login();
  t.equal((await shop.get('/api/products', { token })).headers.get('ratelimit-limit'), '100');
});

t.test('if the configured Redis is down, requests are allowed and the log says so', async (t) => {
  const variables = { THROTTLE_IP: `1/${WINDOW}`, REDIS_URL: `redis://127.0.0.1:${await deadPort()}` };
  const shop = await openShop(t, { variables });
  for (let request = 0; request < 3; request += 1) t.equal((await shop.get('/api/products')).status, 200);
  await shop.process.logged((line) => line.level >= 40 && /throttl|store|redis/i.test(line.msg));
  t.equal((await shop.get('/health/')).status, 503);
  isError(t, await shop.post('/api/auth/send-verification-email', { email: 'a@example.com' }), 'service_unavailable');
});

function hasHeaders(
  t: Test,
  answer: Answer<unknown>,
  limit: number,
  remaining: number,
  name = `${remaining} of ${limit} remain`,
): void {
  t.equal(answer.headers.get('ratelimit-limit'), String(limit), `${name}: RateLimit-Limit`);
  t.equal(answer.headers.get('ratelimit-remaining'), String(remaining), `${name}: RateLimit-Remaining`);
  const reset = answer.headers.get('ratelimit-reset') ?? '';
  t.ok(/^\d+$/.test(reset) && Number(reset) > 0 && Number(reset) <= WINDOW, `${name}: RateLimit-Reset ${reset}`);
}
