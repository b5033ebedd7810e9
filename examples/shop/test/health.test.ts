import t from 'tap';
import { isError } from './support/expect.ts';
import { openShop, withShop } from './support/shop.ts';
import { deadPort } from './support/mail-server.ts';

interface Health {
  status: string;
  checks: Record<string, { status: string; duration_ms: number }>;
}

withShop({}, async (t, shop) => {
  for (const path of ['/health/', '/health']) {
    const answer = await shop.get<Health>(path);
    t.equal(answer.status, 200, path);
    t.same(Object.keys(answer.body), ['status', 'checks']);
    t.equal(answer.body.status, 'ok');
    t.same(Object.keys(answer.body.checks), [shop.kind]);
    t.same(Object.keys(answer.body.checks[shop.kind] ?? {}).toSorted(), ['duration_ms', 'status']);
    t.equal(answer.body.checks[shop.kind]?.status, 'ok');
    t.type(answer.body.checks[shop.kind]?.duration_ms, 'number');
    t.equal((await shop.get(path, { token: 'bad' })).status, 200, `${path} never needs a token`);
    t.equal((await shop.get(`${path}?nonsense=1`)).status, 200, `${path} with a query string`);
  }
  for (const path of ['/health/live', '/health/live/', '/health/ready', '/health/ready/']) {
    const answer = await shop.get<Health>(path);
    t.equal(answer.status, 200, path);
    t.equal(answer.body.status, 'ok', path);
  }
  isError(t, await shop.get('/health/nothing'), 'not_found');
  isError(t, await shop.post('/health/', {}), 'method_not_allowed');
});

t.test('a failing check returns 503 without the reason', async (t) => {
  const port = await deadPort();
  const shop = await openShop(t, { variables: { REDIS_URL: `redis://:secret-word@127.0.0.1:${port}/3` } });
  for (const path of ['/health/', '/health']) {
    const answer = await shop.get<Health>(path);
    t.equal(answer.status, 503, path);
    t.equal(answer.body.status, 'unavailable');
    t.equal(answer.body.checks['redis']?.status, 'unavailable');
    t.equal(answer.body.checks[shop.kind]?.status, 'ok', 'the others are told all the same');
    t.notMatch(answer.text, /secret-word|127\.0\.0\.1|ECONN|Error/, 'no message and no address of a driver');
    t.notMatch(answer.text, String(port));
  }
  t.equal((await shop.get('/health/live')).status, 200, 'live runs no checks');
});
