import { QueryClient } from '@tanstack/query-core';
import t from 'tap';
import { ApiError, type Client, createClient } from '../src/index.ts';
import { scriptedServer } from './support/scripted-server.ts';
import type { Api } from './support/library-router.ts';

const REFUSED = { error: 'Too many requests', code: 'too_many_requests' };
const EXPIRED = {
  status: 401,
  body: { error: 'Authentication is required', code: 'unauthorized' },
  headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
};
const BOOK = { id: 1, title: 'Ash' };

/** Gives the error that a promise rejects with. */
async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    () => new Error('it was expected to fail'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof ApiError) return error;
  throw error;
}

t.test('a GET is repeated after 429 and 503, at the time that the server sends', async (t) => {
  const { url, seen } = await scriptedServer(t, (_request, times) => {
    if (times === 1) return { status: 429, body: REFUSED, headers: { 'retry-after': '0' } };
    if (times === 2) return { status: 503, body: REFUSED, headers: { 'retry-after': new Date(0).toUTCString() } };
    return { body: BOOK };
  });
  const api = createClient<Api>({ url });
  t.match(await api.books.retrieve(1), BOOK);
  t.equal(seen.length, 3);
});

t.test('retries are bounded, in number and in time', async (t) => {
  const { url, seen } = await scriptedServer(t, ({ url: path }) => ({
    status: 429,
    body: REFUSED,
    headers: { 'retry-after': path.endsWith('/1') ? '0' : '60', 'x-request-id': 'req-7' },
  }));
  const api = createClient<Api>({ url, retries: 3 });
  const error = await errorOf(api.books.retrieve(1));
  t.strictSame(
    [error.status, error.code, error.retryAfterSeconds, error.requestId],
    [429, 'too_many_requests', 0, 'req-7'],
  );
  t.equal(seen.length, 4);
  t.equal((await errorOf(api.books.retrieve(2))).retryAfterSeconds, 60);
  t.equal(seen.length, 5, 'nobody waits for a minute');
  await errorOf(api.books.retrieve(1, {}, { retries: 0 }));
  t.equal(seen.length, 6);
});

t.test('a write is repeated only if the call requests it', async (t) => {
  const { url, seen } = await scriptedServer(t, (_request, times) =>
    times === 4 ? { status: 201, body: BOOK } : { status: 503, body: REFUSED, headers: { 'retry-after': '0' } },
  );
  const api = createClient<Api>({ url, retries: 5 });
  await errorOf(api.books.create({ title: 'Ash' }));
  await errorOf(api.books.destroy(1));
  t.equal(seen.length, 2);
  t.match(await api.books.create({ title: 'Ash' }, { retries: 1 }), BOOK);
  t.strictSame(
    seen.slice(2).map(({ body }) => body),
    ['{"title":"Ash"}', '{"title":"Ash"}'],
  );
});

t.test('a lost connection is another reason to try a GET again, and an error of status 0 in the end', async (t) => {
  const { url, seen } = await scriptedServer(t, (_request, times, raw) => {
    if (times !== 2) return void raw.destroy();
    return { body: BOOK };
  });
  const api = createClient<Api>({ url });
  t.match(await api.books.retrieve(1), BOOK);
  t.equal(seen.length, 2);
  const error = await errorOf(api.books.retrieve(1, {}, { retries: 0 }));
  t.strictSame([error.status, error.code, error.body], [0, 'network_error', undefined]);
  t.ok(error.cause);
  t.match(await api.books.create.safe({ title: 'x' }), { ok: false, status: 0, error: { code: 'network_error' } });
});

t.test('an attempt that takes too long is aborted and not repeated', async (t) => {
  const { url, seen } = await scriptedServer(t, () => undefined);
  // Long enough for the request to arrive on a busy machine.
  const error = await errorOf(createClient<Api>({ url, timeoutMs: 1000 }).books.retrieve(1));
  t.strictSame([error.status, error.code], [0, 'timed_out']);
  t.equal(seen.length, 1);
});

t.test('a signal ends a call with its reason, at any stage', async (t) => {
  const gone = new Error('gone');
  let controller = new AbortController();
  const { url, seen } = await scriptedServer(t, ({ url: path }) => {
    if (path.endsWith('/1')) {
      controller.abort(gone);
      return undefined;
    }
    setTimeout(() => controller.abort(gone), 100);
    return { status: 503, body: REFUSED, headers: { 'retry-after': '9' } };
  });
  const aborted = () => ({ signal: (controller = new AbortController()).signal });
  const api = createClient<Api>({ url });
  await t.rejects(api.books.retrieve(1, {}, aborted()), gone, 'while it is on its way');
  await t.rejects(api.books.retrieve(2, {}, aborted()), gone, 'while it waits for another try');
  await t.rejects(api.books.retrieve.safe(1, {}, { signal: AbortSignal.abort(gone) }), gone, 'before it begins');
  t.equal(seen.length, 2);
  const token = () => {
    setImmediate(() => controller.abort(gone));
    return new Promise<string>(() => {});
  };
  const waiting = createClient<Api>({ url, token });
  await t.rejects(waiting.books.retrieve(2, {}, aborted()), gone, 'while it waits for a token');
});

t.test('the token function is called before every request, and its token is sent', async (t) => {
  const { url, seen } = await scriptedServer(t, () => ({ body: BOOK }));
  const tokens = ['one', undefined, 'two'];
  const api = createClient<Api>({ url, token: () => tokens.shift(), headers: { 'x-tenant': 'a' } });
  for (const tenant of [undefined, undefined, 'b']) {
    await api.books.retrieve(1, {}, tenant === undefined ? {} : { headers: { 'x-tenant': tenant } });
  }
  t.strictSame(
    seen.map(({ headers }) => headers.authorization),
    ['Bearer one', undefined, 'Bearer two'],
  );
  t.strictSame(
    seen.map(({ headers }) => headers['x-tenant']),
    ['a', 'a', 'b'],
  );
});

t.test('a refused token is renewed once for all calls that wait, and each is sent once more', async (t) => {
  const { url, seen } = await scriptedServer(t, ({ headers }) =>
    headers.authorization === 'Bearer new' ? { body: BOOK } : EXPIRED,
  );
  let renewals = 0;
  const refresh = async () => {
    renewals++;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return 'new';
  };
  const api = createClient<Api>({ url, token: 'old', refresh });
  const calls = [api.books.retrieve(1), api.books.create({ title: 'x' }), api.books.retrieve(2), api.books.destroy(3)];
  await Promise.all(calls);
  t.equal(renewals, 1);
  t.equal(seen.length, 8);
  await api.books.retrieve(4);
  t.equal(seen.at(-1)?.headers.authorization, 'Bearer new', 'it stays in the place of the old one');
  t.equal(renewals, 1);
});

t.test('a late 401 of a token that was renewed meanwhile does not renew it again', async (t) => {
  let letGo = (): void => {};
  const held = new Promise<void>((resolve) => (letGo = resolve));
  const { url } = await scriptedServer(t, async ({ headers, url: path }) => {
    if (path.endsWith('/9')) await held;
    return headers.authorization === 'Bearer new' ? { body: BOOK } : EXPIRED;
  });
  let renewals = 0;
  const api = createClient<Api>({ url, token: 'old', refresh: async () => (renewals++ === 0 ? 'new' : 'newer') });
  const slow = api.books.retrieve(9);
  await api.books.retrieve(1);
  letGo();
  t.match(await slow, BOOK);
  t.equal(renewals, 1);
});

t.test('a 401 that no other token would change is thrown as it is', async (t) => {
  const { url, seen } = await scriptedServer(t, ({ url: path }) =>
    path.endsWith('/1') ? EXPIRED : { ...EXPIRED, headers: { 'www-authenticate': 'Bearer' } },
  );
  let renewals = 0;
  const api = createClient<Api>({ url, token: () => 'old', refresh: async () => `new ${++renewals}` });
  t.equal((await errorOf(api.books.retrieve(1))).status, 401);
  t.strictSame([renewals, seen.length], [1, 2], 'once more, and no further');
  t.equal((await errorOf(api.books.retrieve(2))).status, 401);
  t.strictSame([renewals, seen.length], [1, 3], 'a good token of somebody who may not');

  const failing = createClient<Api>({ url, token: 'old', refresh: () => Promise.reject(new Error('logged out')) });
  const error = await errorOf(failing.books.retrieve(1));
  t.strictSame([error.status, (error.cause as Error).message], [401, 'logged out']);
});

t.test('a renewed token is not sent any more after its user has logged out', async (t) => {
  const { url, seen } = await scriptedServer(t, ({ headers }) => (headers.authorization ? { body: BOOK } : EXPIRED));
  for (const between of [0, 1]) {
    let token: string | null = null;
    let isLoggedIn = true;
    const refresh = async (): Promise<string> => {
      if (!isLoggedIn) throw new Error('logged out');
      return (token = 'mine');
    };
    const api = createClient<Api>({ url, token: () => token, refresh });
    t.match(await api.books.retrieve(1), BOOK, 'the page was loaded, and has no token in memory yet');
    for (let call = 0; call < between; call++) await api.books.retrieve(1);
    token = null;
    isLoggedIn = false;
    seen.length = 0;
    t.equal((await errorOf(api.books.retrieve(1))).status, 401);
    t.strictSame(
      seen.map(({ headers }) => headers.authorization),
      [undefined],
    );
  }
});

t.test('a renewal in progress serves only calls that have the token that it renews', async (t) => {
  const { url, seen } = await scriptedServer(t, ({ headers }) => {
    return ['Bearer ada 2', 'Bearer bob 2'].includes(String(headers.authorization)) ? { body: BOOK } : EXPIRED;
  });
  for (const next of [null, 'bob']) {
    let token: string | null = 'ada';
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const refresh = async (): Promise<string> => {
      const whose = token;
      if (whose === 'ada') await held;
      if (whose === null) throw new Error('logged out');
      return `${whose} 2`;
    };
    const api = createClient<Api>({ url, token: () => token, refresh });
    seen.length = 0;
    const first = api.books.retrieve(1).then(
      () => 'found',
      ({ status }: ApiError) => status,
    );
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 20));
    token = next;
    const second = api.books.retrieve(2).then(
      () => 'found',
      ({ status }: ApiError) => status,
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    letGo();
    t.equal(await first, next === null ? 401 : 'found', 'after a logout nothing is sent for the user who has gone');
    t.equal(await second, next === null ? 401 : 'found');
    const sent = seen.filter((request) => request.url.endsWith('/2')).map(({ headers }) => headers.authorization);
    t.strictSame(
      sent,
      next === null ? [undefined] : ['Bearer bob', 'Bearer bob 2'],
      'the second never goes for the first',
    );
  }
});

t.test('a call with a separate token, or without one, does not renew', async (t) => {
  const { url, seen } = await scriptedServer(t, ({ headers }) =>
    headers.authorization === 'Bearer mine' ? { body: BOOK } : EXPIRED,
  );
  const api: Client<Api> = createClient<Api>({
    url,
    token: 'old',
    // Asked with the client's token, it would wait for itself.
    refresh: async () => (await api.books.retrieve(1, {}, { token: null })).title,
  });
  t.equal((await errorOf(api.books.retrieve(2, {}, { token: null }))).status, 401);
  t.equal((await errorOf(api.books.retrieve(2, {}, { token: 'older' }))).status, 401);
  t.match(await api.books.retrieve(2, {}, { token: 'mine' }), BOOK);
  t.strictSame(
    seen.map(({ headers }) => headers.authorization),
    [undefined, 'Bearer older', 'Bearer mine'],
  );
  const error = await errorOf(api.books.retrieve(3));
  t.strictSame([error.status, (error.cause as { status?: number }).status], [401, 401], 'the renewal says why');
  t.equal(seen.at(-1)?.headers.authorization, undefined);
});

t.test('a response with an ETag is cached, and revalidated by it', async (t) => {
  let version = 1;
  const { url, seen } = await scriptedServer(t, ({ method, headers }) => {
    const etag = `"v${version}"`;
    if (method === 'PATCH' && headers['if-match'] !== etag) {
      return { status: 412, body: { error: 'The record has changed', code: 'precondition_failed' } };
    }
    if (method === 'PATCH') version++;
    if (headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
    return { body: { ...BOOK, version }, headers: { etag: `"v${version}"` } };
  });
  const api = createClient<Api>({ url, keptAnswers: 2 });
  const first = await api.books.retrieve(1);
  const second = await api.books.retrieve(1);
  t.equal(seen[1]?.headers['if-none-match'], '"v1"');
  t.strictSame(second, first);
  t.not(second, first, 'of its own: whoever changes one changes no other');
  t.match(await api.books.retrieve.safe(1), { ok: true, status: 200 });

  t.match(await api.books.update(1, { price: 2 }, { ifMatch: true }), { version: 2 });
  t.equal(seen.at(-1)?.headers['if-match'], '"v1"');
  t.match(await api.books.update(1, { price: 3 }, { ifMatch: true }), { version: 3 }, 'the answer of a write is seen');
  version++;
  t.match(await api.books.update.safe(1, { price: 4 }, { ifMatch: true }), { ok: false, status: 412 });
  t.match(await api.books.update.safe(1, { price: 4 }, { ifMatch: '"other"' }), { ok: false, status: 412 });
  const sent = seen.length;
  await t.rejects(api.books.update(2, { price: 4 }, { ifMatch: true }), { name: 'TypeError', message: /retrieve it/ });
  t.equal(seen.length, sent);

  await api.books.create({ title: 'Elm' });
  await api.books.list();
  t.equal(seen.at(-1)?.headers['if-none-match'], undefined, 'the tag of a new record is not that of the list');

  for (const key of [2, 3, 1]) await api.books.retrieve(key);
  t.equal(seen.at(-1)?.headers['if-none-match'], undefined, 'only the last two are kept');
});

t.test('a response cached for one token is not used for another', async (t) => {
  const { url, seen } = await scriptedServer(t, () => ({ body: BOOK, headers: { etag: '"1"' } }));
  let token = 'one';
  const api = createClient<Api>({ url, token: () => token });
  await api.books.retrieve(1);
  token = 'two';
  await api.books.retrieve(1);
  t.equal(seen[1]?.headers['if-none-match'], undefined);
});

t.test('a record read before its token was renewed can be written by ifMatch after it', async (t) => {
  let good = 'one';
  const { url, seen } = await scriptedServer(t, ({ headers }) =>
    headers.authorization === `Bearer ${good}` ? { body: BOOK, headers: { etag: '"1"' } } : EXPIRED,
  );
  let token = good;
  const api = createClient<Api>({ url, token: () => token, refresh: async () => (token = good) });
  await api.books.retrieve(1);
  good = 'two';
  t.match(await api.books.update(1, { price: 2 }, { ifMatch: true }), BOOK, 'the write finds the token too old');
  t.equal(seen.at(-1)?.headers['if-match'], '"1"');
  good = 'three';
  await api.books.list();
  await api.books.update(1, { price: 3 }, { ifMatch: true });
  t.equal(seen.at(-1)?.headers['if-match'], '"1"', 'another call has found it too old');
});

t.test('a record that was just created can be written by ifMatch', async (t) => {
  const { url, seen } = await scriptedServer(t, ({ method }) => ({
    status: method === 'POST' ? 201 : 200,
    body: BOOK,
    headers: { etag: '"1"', ...(method === 'POST' && { location: '/prefix/of/the/server/books/green%20tea' }) },
  }));
  const api = createClient<Api>({ url });
  await api.books.create({ title: 'Ash' });
  await api.books.update('green tea', { price: 2 }, { ifMatch: true });
  t.match(seen.at(-1), { url: '/books/green%20tea', headers: { 'if-match': '"1"' } });
});

t.test('responses that are not from a Viewset server are errors with their status', async (t) => {
  const { url } = await scriptedServer(t, ({ url: path }) =>
    path.endsWith('/1') ? { status: 502, body: '<html>' } : { status: 500, body: { message: 'x' } },
  );
  const api = createClient<Api>({ url });
  const error = await errorOf(api.books.retrieve(1));
  t.strictSame([error.status, error.code, error.body, error.details], [502, 'unexpected_answer', '<html>', []]);
  t.equal((await errorOf(api.books.retrieve(2))).code, 'unexpected_answer');
  const page = await scriptedServer(t, ({ url: path }) =>
    path.endsWith('/1')
      ? { body: '{"id":', headers: { 'content-type': 'application/json' } }
      : { body: '<html>', headers: { 'content-type': 'text/html' } },
  );
  const behind = createClient<Api>({ url: page.url });
  for (const key of [1, 2]) t.strictSame((await errorOf(behind.books.retrieve(key))).code, 'unexpected_answer');
  t.equal(await behind.books['/each'](), '<html>', 'an action may answer with a text');
});

t.test('bigints are sent as texts, and a router with other paths is followed', async (t) => {
  const { url, seen } = await scriptedServer(t, () => ({ body: BOOK }));
  const api = createClient<Api>({ url, actionPath: (name) => name.toUpperCase() });
  await api.books.addPages.post(2n ** 60n, { pages: 10n } as never);
  t.match(seen[0], { url: '/books/1152921504606846976/ADDPAGES', body: '{"pages":"10"}' });
});

t.test('it works with TanStack Query', async (t) => {
  const { url, seen } = await scriptedServer(t, () => ({
    body: { count: 1, next: false, previous: false, results: [BOOK] },
  }));
  const api = createClient<Api>({ url });
  const queries = new QueryClient();
  t.teardown(() => queries.clear());
  const booksOf = (search: string) =>
    queries.query({
      queryKey: api.books.list.key({ search }),
      queryFn: ({ signal }) => api.books.list({ search }, { signal }),
      staleTime: Infinity,
    });
  t.equal((await booksOf('ash')).results[0]?.title, 'Ash');
  await booksOf('ash');
  t.equal(seen.length, 1, 'the second time it is from the cache');
  await booksOf('elm');
  t.equal(seen.length, 2);
  await queries.invalidateQueries({ queryKey: api.books.key() });
  await booksOf('ash');
  t.equal(seen.length, 3, 'all readings of a view are invalidated by its key');
});
