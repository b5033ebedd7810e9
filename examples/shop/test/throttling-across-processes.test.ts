/** The limits of a shop in three processes, which count in one Redis. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { isError } from './support/expect.ts';
import { withShops } from './support/shops.ts';

const LIMIT = 50;
const WINDOW_SECONDS = 4;
const WINDOW_MS = WINDOW_SECONDS * 1000;
const REQUESTS = 240;

const VARIABLES = {
  TRUST_PROXY: 'loopback',
  // A window that lasts longer than all requests take, on any machine.
  THROTTLE_IP: `${LIMIT}/600`,
  THROTTLE_USER: `${LIMIT}/${WINDOW_SECONDS}`,
};
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

withShops(t, { processes: 3, variables: VARIABLES }, async (t, shops) => {
  /** Requests of one account, each from another address, so that only the limit of the account counts. */
  const newAccount = async () => {
    const email = `${randomBytes(6).toString('hex')}@example.com`;
    const token = await shops.at(0).newUser(email);
    return () => ({
      ...from(`2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1`),
      token,
    });
  };

  await t.test('of many concurrent requests on all processes, exactly the limit is allowed', async (t) => {
    const client = from('203.0.113.1');
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, (_, index) => shops.at(index).get('/api/products', client)),
    );
    const passed = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    t.equal(passed.length, LIMIT);
    for (const answer of refused) isError(t, answer, 'too_many_requests');
    const remaining = passed.map(({ headers }) => Number(headers.get('ratelimit-remaining')));
    t.same(
      remaining.toSorted((a, b) => a - b),
      Array.from({ length: LIMIT }, (_, index) => index),
      'each was told another number of requests that remain',
    );
    t.ok(refused.every(({ headers }) => headers.get('ratelimit-remaining') === '0'));
  });

  await t.test('under a steady load, no span of the window lets more than the limit pass', async (t) => {
    const account = await newAccount();
    const passed: { sentAt: number; respondedAt: number }[] = [];
    const until = performance.now() + 2.5 * WINDOW_MS;
    const hammer = async (index: number): Promise<void> => {
      while (performance.now() < until) {
        const sentAt = performance.now();
        const { status } = await shops.at(index).get('/api/products', account());
        if (status === 200) passed.push({ sentAt, respondedAt: performance.now() });
        await sleep(15);
      }
    };
    await Promise.all(Array.from({ length: 9 }, (_, index) => hammer(index)));
    t.ok(passed.length >= 2 * LIMIT, `those that are refused do not keep the window shut: ${passed.length} passed`);
    // A request was counted at some time between the two: one more than the limit cannot lie closer together than this.
    const spans = passed.slice(LIMIT).map(({ respondedAt }, first) => {
      return respondedAt - Math.min(...passed.slice(first, first + LIMIT).map(({ sentAt }) => sentAt));
    });
    t.ok(Math.min(...spans) >= WINDOW_MS, `one more than the limit take ${Math.min(...spans).toFixed(0)} ms at least`);
  });

  await t.test('the Retry-After of one process is sufficient for another', async (t) => {
    const account = await newAccount();
    await Promise.all(Array.from({ length: LIMIT }, (_, index) => shops.at(index).get('/api/products', account())));
    const refused = await shops.at(0).get('/api/products', account());
    isError(t, refused, 'too_many_requests');
    const waitSeconds = Number(refused.headers.get('retry-after'));
    t.ok(waitSeconds >= 1 && waitSeconds <= WINDOW_SECONDS, `Retry-After: ${waitSeconds}`);
    t.equal(refused.headers.get('ratelimit-reset'), String(waitSeconds), 'RateLimit-Reset says the same');
    const waited = sleep(waitSeconds * 1000);
    // A client that sends requests all the time does not wait longer for it.
    const insisting = setInterval(() => {
      void shops.at(Math.floor(Math.random() * 3)).get('/api/products', account());
    }, 500);
    await sleep((waitSeconds - 1) * 1000);
    clearInterval(insisting);
    await waited;
    t.equal((await shops.at(1).get('/api/products', account())).status, 200);
  });
});
