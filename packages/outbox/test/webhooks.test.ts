/** Webhooks: signed by the scheme of Standard Webhooks, once for each subscription, and to public addresses alone. */
import type { MikroORM } from '@mikro-orm/core';
import fastify, { type FastifyRequest } from 'fastify';
import { createHmac } from 'node:crypto';
import dns from 'node:dns';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { IsAuthenticated, ModelViewSet, Permission, readShape, Router, writeShape } from '@viewset/core';
import { forEachDatabase, openSqlite } from '../../core/test/support/databases.ts';
import { Book, LIBRARY, testApp } from '../../core/test/support/library.ts';
import {
  emit,
  InvalidWebhook,
  OutboxEvent,
  startOutbox,
  verifyWebhook,
  webhooks,
  type WebhookOptions,
  WebhookSubscription,
  WebhookViewSet,
} from '../src/index.ts';
import { isPublic, PublicLookup, urlProblem } from '../src/webhooks/public-address.ts';
import { post } from '../src/webhooks/post.ts';
import { nameServer, useNameServer } from './support/name-server.ts';
import { until } from './support/until.ts';
import { withOutbox } from './support/with-outbox.ts';

const entities = [...LIBRARY, OutboxEvent, WebhookSubscription];
const log = { warn: () => {}, error: () => {} };

interface Received {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly path: string;
}

/** A server that answers with some status, and keeps what it got. */
async function receiver(t: Test, statusOf: (path: string, count: number) => number | Promise<number> = () => 204) {
  const got: Received[] = [];
  const app = fastify();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.post('/*', async (request: FastifyRequest, reply) => {
    const count = got.push({ headers: request.headers as never, body: request.body as string, path: request.url });
    const status = await statusOf(request.url, count);
    if (status === 302) reply.header('location', `${address}/elsewhere`);
    reply.code(status);
    return status === 200 ? 'x'.repeat(1_000_000) : '';
  });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  t.teardown(() => app.close());
  return { address, got };
}

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
  emits: ['created', 'updated'],
}) {}
class Webhooks extends WebhookViewSet({ permissionClasses: [IsAuthenticated], development: true }) {}

/** The types of events that a handler of all has got. */
const seen: string[] = [];

const start = (t: Test, orm: MikroORM, options: Partial<WebhookOptions> = {}) =>
  testApp(t, orm, [new Router().register('books', BookViewSet).register('webhooks', Webhooks)], {
    before: withOutbox({
      log,
      pollMs: 100,
      backoffMs: 20,
      maxAttempts: 3,
      handlers: [
        webhooks({ mayReceive: () => true, development: true, ...options }),
        { '*': ({ type }) => seen.push(type) },
      ],
    }),
  });

forEachDatabase(t, { entities }, async (t, orm) => {
  const em = () => orm.em.fork();
  const isQuiet = async () => (await em().count(OutboxEvent, { status: 'waiting' })) === 0;
  const ada = { 'x-user': 'Ada' };

  t.test('a subscription shows its secret once, and gets signed requests in the order of each record', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t, (_path, count) => (count === 1 ? 500 : 204));
    const app = await start(t, orm);
    const payload = { url: `${address}/hook`, event_types: ['book.*'] };
    t.equal((await app.inject({ method: 'POST', url: '/webhooks', payload })).statusCode, 401);
    const made = await app.inject({ method: 'POST', url: '/webhooks', payload, headers: ada });
    t.equal(made.statusCode, 201, made.body);
    const { id, secret } = made.json();
    t.match(secret, /^whsec_[A-Za-z\d+/]{32}$/);
    t.match(made.json(), { ...payload, is_enabled: true, owner: '3', disabled_reason: null });
    for (const answer of [
      await app.inject({ url: `/webhooks/${id}`, headers: ada }),
      await app.inject({ url: '/webhooks', headers: ada }),
      await app.inject({ method: 'PATCH', url: `/webhooks/${id}`, payload: { event_types: ['*'] }, headers: ada }),
    ]) {
      t.equal(answer.statusCode, 200);
      t.notMatch(answer.body, /secret|whsec/);
    }
    t.equal((await app.inject({ url: `/webhooks/${id}`, headers: { 'x-user': 'Grace' } })).statusCode, 404);

    const book = (await app.inject({ method: 'POST', url: '/books', payload: { title: 'Ash' } })).json();
    await app.inject({ method: 'PATCH', url: `/books/${book.id}`, payload: { title: 'Birch' } });
    await until(isQuiet);
    const sent = got.map(({ body }) => JSON.parse(body));
    t.match(sent, [
      { type: 'book.created', data: { title: 'Ash' } },
      { type: 'book.created', data: { title: 'Ash' } },
      { type: 'book.updated', data: { title: 'Birch' } },
    ]);
    t.equal(got[0]!.headers['webhook-id'], got[1]!.headers['webhook-id'], 'the same for each attempt');
    t.not(got[1]!.headers['webhook-id'], got[2]!.headers['webhook-id']);
    for (const { body, headers } of got) {
      t.strictSame(new Webhook(secret).verify(body, headers), JSON.parse(body), 'by the reference implementation');
      t.strictSame(verifyWebhook({ body: Buffer.from(body), headers, secret }), JSON.parse(body));
    }
  });

  t.test('enabling a subscription clears the reason, also in the response', async (t) => {
    await orm.schema.clear();
    const app = await start(t, orm);
    const payload = { url: 'http://127.0.0.1:1', event_types: ['*'] };
    const { id } = (await app.inject({ method: 'POST', url: '/webhooks', payload, headers: ada })).json();
    const changes = { is_enabled: false, disabled_reason: 'the receiver answered 410' };
    await em().nativeUpdate(WebhookSubscription, { id }, changes);
    const patch = async (body: object) =>
      (await app.inject({ method: 'PATCH', url: `/webhooks/${id}`, payload: body, headers: ada })).json();
    t.match(await patch({ event_types: ['b'] }), changes, 'the reason stays as long as it is disabled');
    t.match(await patch({ is_enabled: true }), { is_enabled: true, disabled_reason: null });
    t.match(await em().findOne(WebhookSubscription, { id }), { is_enabled: true, disabled_reason: null });
  });

  t.test('a secret is rotated: for a day both sign, and of two requests at once one has the secret', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t);
    const app = await start(t, orm);
    const payload = { url: `${address}/hook`, event_types: ['book.*'] };
    const made = (await app.inject({ method: 'POST', url: '/webhooks', payload, headers: ada })).json();
    const url = `/webhooks/${made.id}/rotate`;
    t.equal((await app.inject({ method: 'POST', url })).statusCode, 401);
    t.equal((await app.inject({ method: 'POST', url, headers: { 'x-user': 'Grace' } })).statusCode, 404);
    const rotated = await app.inject({ method: 'POST', url, headers: ada });
    t.equal(rotated.statusCode, 200, rotated.body);
    const { secret, previous_secret_until: until_ } = rotated.json();
    t.not(secret, made.secret);
    const hours = (Date.parse(until_) - Date.now()) / 3_600_000;
    t.ok(hours > 23 && hours <= 24);
    const shown = await app.inject({ url: `/webhooks/${made.id}`, headers: ada });
    t.notMatch(shown.body, /secret|whsec/);

    await app.inject({ method: 'POST', url: '/books', payload: { title: 'Ash' } });
    await until(isQuiet);
    const [{ headers, body }] = got as [Received];
    t.equal(headers['webhook-signature']?.split(' ').length, 2);
    for (const each of [secret, made.secret]) {
      t.match(new Webhook(each).verify(body, headers), { type: 'book.created' });
    }

    await em().nativeUpdate(WebhookSubscription, { id: made.id }, { previous_secret_until: new Date(Date.now() - 1) });
    await app.inject({ method: 'POST', url: '/books', payload: { title: 'Birch' } });
    await until(() => got.length === 2);
    t.equal(got[1]!.headers['webhook-signature']?.split(' ').length, 1);
    t.match(new Webhook(secret).verify(got[1]!.body, got[1]!.headers), { type: 'book.created' });
    t.throws(() => new Webhook(made.secret).verify(got[1]!.body, got[1]!.headers));

    const both = await Promise.all([1, 2, 3, 4].map(() => app.inject({ method: 'POST', url, headers: ada })));
    const stored = (await em().findOneOrFail(WebhookSubscription, made.id)).secret;
    const given = both.filter(({ statusCode }) => statusCode === 200).map((answer) => answer.json().secret as string);
    t.ok(given.includes(stored), 'the last one has it');
    t.strictSame(
      both.map(({ statusCode }) => statusCode).filter((status) => status !== 200 && status !== 409),
      [],
    );
  });

  t.test('a delivery that is tried again after a rotation is signed by both secrets', async (t) => {
    await orm.schema.clear();
    let secret = '';
    const { address, got } = await receiver(t, async (_path, count) => {
      if (count > 1) return 204;
      const url = `/webhooks/${made.id}/rotate`;
      secret = (await app.inject({ method: 'POST', url, headers: ada })).json().secret;
      return 500;
    });
    const app = await start(t, orm);
    const payload = { url: `${address}/hook`, event_types: ['book.*'] };
    const made = (await app.inject({ method: 'POST', url: '/webhooks', payload, headers: ada })).json();
    await app.inject({ method: 'POST', url: '/books', payload: { title: 'Ash' } });
    await until(() => got.length === 2);
    await until(isQuiet);
    const [{ headers, body }] = got.slice(-1) as [Received];
    t.equal(headers['webhook-id'], got[0]!.headers['webhook-id']);
    for (const each of [secret, made.secret]) {
      t.match(new Webhook(each).verify(body, headers), { type: 'book.created' });
    }
  });

  t.test('a second rotation ends the first secret at once, as after a leak', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t);
    const app = await start(t, orm);
    const payload = { url: `${address}/hook`, event_types: ['book.*'] };
    const made = (await app.inject({ method: 'POST', url: '/webhooks', payload, headers: ada })).json();
    const rotate = async () =>
      (await app.inject({ method: 'POST', url: `/webhooks/${made.id}/rotate`, headers: ada })).json().secret as string;
    const secrets = [await rotate(), await rotate()];
    await app.inject({ method: 'POST', url: '/books', payload: { title: 'Ash' } });
    await until(isQuiet);
    const [{ headers, body }] = got as [Received];
    for (const each of secrets) t.match(new Webhook(each).verify(body, headers), { type: 'book.created' });
    t.throws(() => new Webhook(made.secret).verify(body, headers));
  });

  t.test('a request cannot set or read a secret, and only a creation and a rotation return it', async (t) => {
    await orm.schema.clear();
    const { address } = await receiver(t, () => 500);
    const app = await start(t, orm);
    const own = { secret: 'whsec_b3du', previous_secret: 'whsec_b3du', previous_secret_until: '2999-01-01T00:00:00Z' };
    const payload = { url: `${address}/hook`, event_types: ['*'], ...own, owner: 'Grace' };
    const made = (await app.inject({ method: 'POST', url: '/webhooks', payload, headers: ada })).json();
    t.not(made.secret, own.secret);
    t.not(made.owner, 'Grace');
    t.notHas(made, { previous_secret: own.previous_secret });
    await app.inject({ method: 'POST', url: `/webhooks/${made.id}/rotate`, headers: ada });
    const before = await em().findOneOrFail(WebhookSubscription, made.id);
    t.equal(before.previous_secret, made.secret);
    const changed = { ...own, owner: 'Grace', is_enabled: true };
    const url = `/webhooks/${made.id}`;
    const answers = [
      await app.inject({ method: 'PATCH', url, payload: changed, headers: ada }),
      await app.inject({ method: 'POST', url: `${url}/rotate`, payload: own, headers: { 'x-user': 'Grace' } }),
      await app.inject({ url, headers: ada }),
      await app.inject({ url: '/webhooks', headers: ada }),
      await app.inject({ method: 'OPTIONS', url, headers: ada }),
    ];
    const after = await em().findOneOrFail(WebhookSubscription, made.id);
    for (const name of ['secret', 'previous_secret', 'previous_secret_until', 'owner'] as const) {
      t.strictSame(after[name], before[name], name);
    }
    for (const query of ['secret=x', 'secret__startswith=w', 'previous_secret=x', 'sort=secret', 'fields=secret']) {
      const answer = await app.inject({ url: `/webhooks?${query}`, headers: ada });
      t.equal(answer.statusCode, 400, query);
      answers.push(answer);
    }
    await app.inject({ method: 'POST', url: '/books', payload: { title: 'Ash' } });
    await until(isQuiet);
    const events = await em().find(OutboxEvent, {});
    const shown = JSON.stringify([answers.map(({ headers, body }) => [headers, body]), events]);
    for (const each of [before.secret, made.secret]) t.notOk(shown.includes(each.slice('whsec_'.length)));
    t.notMatch(shown, /whsec_/);
  });

  t.test('every subscription has separate deliveries; 410 ends one, redirects are not followed', async (t) => {
    await orm.schema.clear();
    const statuses: Record<string, number> = { '/ok': 204, '/gone': 410, '/moved': 302, '/big': 200 };
    const { address, got } = await receiver(t, (path) => statuses[path] ?? 500);
    await start(t, orm, { mayReceive: ({ owner }) => owner !== 'stranger' });
    const row = { event_types: ['a', 'b.*'], secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', created_at: new Date() };
    await em().insertMany(
      WebhookSubscription,
      ['ok', 'gone', 'moved', 'big', 'off', 'strange'].map((name) => ({
        ...row,
        id: name,
        url: `${address}/${name}`,
        is_enabled: name !== 'off',
        owner: name === 'strange' ? 'stranger' : null,
      })),
    );
    await emit({ em: em() }, 'a', { n: 1 });
    await until(isQuiet);
    await emit({ em: em() }, 'b.c', { n: 2 });
    await emit({ em: em() }, 'c', { n: 3 });
    await until(isQuiet);
    const counts = Object.fromEntries(
      Object.keys(statuses).map((path) => [path, got.filter((each) => each.path === path).length]),
    );
    t.strictSame(counts, { '/ok': 2, '/gone': 1, '/moved': 6, '/big': 2 });
    t.equal(got.length, 11);
    t.notOk(
      seen.some((type) => type.startsWith('~')),
      'deliveries are no events for other handlers',
    );
    t.match(await em().findOne(WebhookSubscription, { id: 'gone' }), {
      is_enabled: false,
      disabled_reason: 'the receiver answered 410',
    });
    const dead = await em().find(OutboxEvent, { status: 'dead' });
    t.strictSame(
      dead.map(({ type, last_error }) => [type, last_error]),
      [
        ['~webhook.delivery', 'the receiver answered 302'],
        ['~webhook.delivery', 'the receiver answered 302'],
      ],
    );
  });

  t.test('names that no server resolves delay no other owner', async (t) => {
    await orm.schema.clear();
    const { queried } = await nameServer(t, (host) => (host.endsWith('silent.example') ? undefined : ['10.0.0.1']));
    const row = { secret: 'whsec_', created_at: new Date(), is_enabled: true };
    await em().insertMany(WebhookSubscription, [
      { ...row, id: 'one', owner: 'A', url: 'https://1.silent.example/', event_types: ['a'] },
      { ...row, id: 'two', owner: 'A', url: 'https://2.silent.example/', event_types: ['a'] },
      { ...row, id: 'other', owner: 'B', url: 'https://other.example/', event_types: ['b'] },
    ]);
    const handlers = webhooks({ mayReceive: () => true, timeoutMs: 600_000 });
    const worker = startOutbox(orm, { log, handlers, pollMs: 50, maxAttempts: 1 });
    t.teardown(() => worker.stop());
    await emit({ em: em() }, 'a', {});
    await until(() => new Set(queried).size === 2);
    await emit({ em: em() }, 'b', {});
    await until(async () => (await em().count(OutboxEvent, { status: 'dead' })) === 1);
    t.match(await em().find(OutboxEvent, { type: '~webhook.delivery' }, { orderBy: { share: 1 } }), [
      { share: 'one', status: 'waiting' },
      { share: 'other', status: 'dead', last_error: 'other.example is no public address' },
      { share: 'two', status: 'waiting' },
    ]);
    await worker.stop();
    t.equal(await em().count(WebhookSubscription, { owner: 'A', failures: 0 }), 2);
  });

  t.test('name servers that refuse queries are no failure of a subscription', async (t) => {
    await orm.schema.clear();
    useNameServer(t, 1);
    const row = { secret: 'whsec_', created_at: new Date(), is_enabled: true, event_types: ['*'] };
    await em().insertMany(WebhookSubscription, [{ ...row, id: 'one', url: 'https://example.com/' }]);
    const worker = startOutbox(orm, {
      log,
      handlers: webhooks({ mayReceive: () => true }),
      maxAttempts: 1,
      pollMs: 50,
    });
    await emit({ em: em() }, 'a', {});
    await until(async () => (await em().count(OutboxEvent, { status: 'dead' })) === 1);
    await worker.stop();
    t.match(await em().findOne(OutboxEvent, { status: 'dead' }), { last_error: /no name server accepts queries/ });
    t.match(await em().findOne(WebhookSubscription, { id: 'one' }), { failures: 0, failing_since: null });
  });

  t.test('an event that is fanned out twice has each delivery once', async (t) => {
    await orm.schema.clear();
    const row = { event_types: ['*'], secret: 'whsec_', created_at: new Date(), is_enabled: true };
    await em().insertMany(WebhookSubscription, [{ ...row, id: 'one', url: 'http://127.0.0.1:1' }]);
    await emit({ em: em() }, 'a', {}, { subject: 'x'.repeat(300) });
    const handlers = webhooks({ mayReceive: () => true });
    const handle = async (name: string, type: string) => {
      const { id, payload, created_at, subject = null, ...event } = await em().findOneOrFail(OutboxEvent, { type });
      const handled = { id, type: event.type, payload, created_at, subject, attempt: 1, tenant: null };
      await handlers[name]!(handled, { em: em(), signal: new AbortController().signal });
    };
    for (let each = 0; each < 2; each++) await handle('*', 'a');
    t.equal(await em().count(OutboxEvent, { type: '~webhook.fan-out' }), 1);
    for (let each = 0; each < 2; each++) await handle('~webhook.fan-out', '~webhook.fan-out');
    t.equal(await em().count(OutboxEvent, { type: '~webhook.delivery' }), 1);
  });
});

t.test('private addresses are rejected, when a webhook is created and when it is sent', async (t) => {
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '192.168.0.1',
    '172.16.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
  ]) {
    t.notOk(isPublic(address), address);
  }
  for (const address of [
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::7f00:1',
    'ff02::1',
    // Addresses with an IPv4 address inside (RFC 4291, section 2.5.5.1, and RFC 8215), and ranges that nobody routes.
    '::7f00:1',
    '::a9fe:a9fe',
    '64:ff9b:1::7f00:1',
    'fec0::1',
    '4000::1',
  ]) {
    t.notOk(isPublic(address), address);
  }
  for (const address of ['8.8.8.8', '2606:4700:4700::1111']) t.ok(isPublic(address), address);
  for (const [url, problem] of [
    ['http://example.com', 'must begin with https://'],
    ['ftp://example.com', 'must begin with https://'],
    ['nothing', 'must be a URL'],
    ['https://user:pw@example.com', 'must have no user name and no password'],
    ['https://localhost/x', 'must lead to a public address'],
    ['https://api.localhost', 'must lead to a public address'],
    ['https://[::7f00:1]/', 'must lead to a public address'],
    ['https://127.1', 'must lead to a public address'],
    ['https://0x7f000001', 'must lead to a public address'],
    ['https://2130706433', 'must lead to a public address'],
    ['https://[::1]:8080', 'must lead to a public address'],
    ['https://[::ffff:10.0.0.1]', 'must lead to a public address'],
    ['https://169.254.169.254/latest/meta-data', 'must lead to a public address'],
    ['https://example.com/hook', undefined],
  ] as const) {
    t.equal(urlProblem(url, false), problem, url);
  }
  t.equal(urlProblem('http://localhost:3000', true), undefined);
  t.equal(urlProblem('ftp://localhost', true), 'must begin with https:// or http://');

  const orm = await openSqlite(t, { entities });
  class Strict extends WebhookViewSet({ permissionClasses: [IsAuthenticated], owner: () => null }) {}
  const app = await testApp(t, orm, [new Router().register('webhooks', Strict)]);
  const payload = { url: 'https://10.0.0.1/hook', event_types: ['a b', 'ok.*'] };
  const refused = await app.inject({ method: 'POST', url: '/webhooks', payload, headers: { 'x-user': 'Ada' } });
  t.equal(refused.statusCode, 400);
  t.match(refused.json().details, [
    { path: '/url', message: 'must lead to a public address' },
    { path: '/event_types/0' },
  ]);
});

t.test('a name that resolves to a private address is rejected at every connection', async (t) => {
  const { address, got } = await receiver(t);
  const { port } = new URL(address);
  const signal = new AbortController().signal;
  const sent = { headers: {}, body: '{}', timeoutMs: 5000, signal, isDevelopment: false };
  // Rebinding: the name was public when the webhook was made, and is not any more.
  let answer = '93.184.216.34';
  await nameServer(t, (host) => (host === 'rebound.example' ? ['93.184.216.34', answer] : []));
  const find = (host: string, all = true) =>
    new Promise((resolve) =>
      new PublicLookup().lookup(host, { all }, (error, addresses) => resolve(error?.message ?? addresses)),
    );
  const looked = () => find('rebound.example');
  t.strictSame(await looked(), [
    { address: '93.184.216.34', family: 4 },
    { address: '93.184.216.34', family: 4 },
  ]);
  t.equal(await find('rebound.example', false), '93.184.216.34');
  t.match(await find('absent.example'), /ENODATA absent.example/);
  answer = '127.0.0.1';
  t.equal(await looked(), 'rebound.example is no public address', 'one of several is enough');
  await t.rejects(
    post({ ...sent, url: `https://rebound.example:${port}/hook` }),
    /rebound.example is no public address/,
  );
  await t.rejects(post({ ...sent, url: `https://127.0.0.1:${port}/hook` }), /must lead to a public address/);
  await t.rejects(post({ ...sent, url: `http://rebound.example:${port}/hook` }), /must begin with https/);
  t.strictSame(got, []);
});

t.test('a lookup waits for no other, and ends with its request', async (t) => {
  t.intercept(dns, 'lookup', {
    value: (() => {
      throw new Error('the thread pool is shared');
    }) as never,
  });
  const { queried } = await nameServer(t, (host) => (host.endsWith('silent.example') ? undefined : ['10.0.0.1']));
  const abort = new AbortController();
  const sent = { headers: {}, body: '{}', timeoutMs: 600_000, signal: abort.signal, isDevelopment: false };
  const silent = Array.from({ length: 50 }, (_, place) => post({ ...sent, url: `https://${place}.silent.example/` }));
  const all = Promise.allSettled(silent);
  await until(() => new Set(queried).size === 50);
  await t.rejects(post({ ...sent, url: 'https://other.example/' }), /other.example is no public address/);
  abort.abort(new Error('stopped'));
  for (const result of await all) t.match(result, { status: 'rejected', reason: { message: 'stopped' } });
  const looked = new Promise((resolve) => {
    const names = new PublicLookup();
    names.lookup('one.silent.example', { all: true }, (error) => resolve(error?.code));
    names.cancel();
  });
  t.equal(await looked, 'ECANCELLED');
});

t.test('a receiver that does not respond in time has failed', async (t) => {
  const app = fastify();
  app.post('/', () => new Promise(() => {}));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  t.teardown(() => app.close());
  const headers = { 'content-type': 'application/json' };
  const sent = { url, headers, body: '{}', signal: new AbortController().signal, isDevelopment: true };
  await t.rejects(post({ ...sent, timeoutMs: 100 }));
  const dripping = createServer((_request, response) => response.writeHead(200).write('x'));
  await once(dripping.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => dripping.close().closeAllConnections());
  const { port } = dripping.address() as AddressInfo;
  await t.rejects(post({ ...sent, url: `http://127.0.0.1:${port}`, timeoutMs: 200 }), 'nor one that never ends');
});

t.test('a webhook that was changed, is old, or is signed by another secret is refused', async (t) => {
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  const body = '{"type":"a","timestamp":"2026-01-01T00:00:00.000Z","data":{}}';
  const headersAt = (date: Date) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(date.getTime() / 1000)),
    'webhook-signature': `v1,AAAA v1a,x ${new Webhook(secret).sign('msg_1', date, body)}`,
  });
  const headers = headersAt(new Date());
  t.match(verifyWebhook({ secret, headers, body }), { type: 'a' }, 'one signature of several is enough');
  for (const wrong of [
    { secret, headers, body: `${body} ` },
    { secret: 'whsec_AAAA', headers, body },
    { secret, headers: { ...headers, 'webhook-id': 'msg_2' }, body },
    { secret, headers: headersAt(new Date(Date.now() - 400_000)), body },
    { secret, headers: headersAt(new Date(Date.now() + 400_000)), body },
    { secret, headers: { ...headers, 'webhook-timestamp': 'now' }, body },
    { secret, headers: {}, body },
    { secret, headers, body: undefined as never },
  ]) {
    t.throws(() => verifyWebhook(wrong), InvalidWebhook);
  }
  const forged = createHmac('sha256', '').update(`msg_1.${headers['webhook-timestamp']}.${body}`).digest('base64');
  const forgedHeaders = { ...headers, 'webhook-signature': `v1,${forged}` };
  for (const empty of ['', 'whsec_', undefined]) {
    const received = { secret: empty as string, headers: forgedHeaders, body };
    t.throws(() => verifyWebhook(received), { name: 'TypeError', message: /"secret" must be/ }, 'anybody has no key');
  }
  t.throws(
    () => verifyWebhook({ secret, headers, body: JSON.parse(body) as never }),
    /"body" must be the text or the bytes/,
  );
  for (const toleranceSeconds of ['5' as never, NaN, -1]) {
    t.throws(() => verifyWebhook({ secret, headers, body, toleranceSeconds }), /"toleranceSeconds" must be a/);
  }
  t.ok(verifyWebhook({ secret, headers: headersAt(new Date(Date.now() - 400_000)), body, toleranceSeconds: 500 }));
});

t.test('invalid options fail at start', async (t) => {
  t.throws(() => webhooks({} as never), /webhooks\(\): option "mayReceive" must be a function/);
  t.throws(() => webhooks({ mayReceive: () => true, timeoutMs: 0 }), /"timeoutMs" must be a whole number above 0/);
  t.throws(() => WebhookViewSet({ permissionClasses: [] }), /WebhookViewSet: option "permissionClasses" must be/);
  const permissionClasses = [IsAuthenticated];
  t.throws(() => WebhookViewSet({ permissionClasses, owner: 'id' as never }), /"owner" must be a function, got "id"/);
  const development = 'false' as never;
  t.throws(
    () => WebhookViewSet({ permissionClasses, development }),
    /"development" must be true or false, got "false"/,
  );
  t.throws(() => webhooks({ mayReceive: () => true, development }), /"development" must be true or false, got "false"/);
  const orm = await openSqlite(t, { entities: [OutboxEvent] });
  t.throws(
    () => startOutbox(orm, { handlers: webhooks({ mayReceive: () => true }) }),
    /the ORM needs the entity WebhookSubscription/,
  );
});

t.test('a router below a parameter of Fastify has the subscriptions of the organization in the path', async (t) => {
  const orm = await openSqlite(t, { entities });
  class Manages extends Permission {
    override hasPermission({ params, user }: FastifyRequest): boolean {
      const { name } = (user?.role ?? {}) as { readonly name?: string };
      return name === `of ${(params as { readonly team: string }).team}`;
    }
  }
  class TeamWebhooks extends WebhookViewSet({
    permissionClasses: [IsAuthenticated, Manages],
    owner: ({ params }) => `team:${(params as { readonly team: string }).team}`,
    development: true,
  }) {}
  const app = await testApp(t, orm, [], {
    before: async (scope) => {
      await scope.register(new Router().register('webhooks', TeamWebhooks).plugin, { prefix: '/api/teams/:team' });
    },
  });
  const send = (method: 'GET' | 'POST' | 'DELETE', url: string, team: number, payload?: object) =>
    app.inject({ method, url: `/api/teams/${url}`, headers: { 'x-user': `of ${team}` }, ...(payload && { payload }) });
  const made = await send('POST', '1/webhooks', 1, { url: 'https://example.com/hook', event_types: ['*'] });
  t.match([made.statusCode, made.json()], [201, { owner: 'team:1' }]);
  t.equal(made.headers.location, `/api/teams/1/webhooks/${made.json().id}`);
  t.equal((await send('POST', '1/webhooks', 2, { url: 'https://example.com/x', event_types: ['*'] })).statusCode, 403);
  t.match((await send('GET', '1/webhooks', 1)).json(), { count: 1 });
  t.match((await send('GET', '2/webhooks', 2)).json(), { count: 0 });
  t.equal((await send('DELETE', `2/webhooks/${made.json().id}`, 2)).statusCode, 404);
  t.equal((await send('DELETE', `1/webhooks/${made.json().id}`, 1)).statusCode, 204);
});
