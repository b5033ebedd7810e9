// Needs a process of its own: Playwright replaces `process.cwd`.
/** Uploads whose progress is told, in a real browser: only there is an XMLHttpRequest. */
import { build } from 'esbuild';
import type { FastifyInstance } from 'fastify';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { openBrowser, openPage, skipWithoutBrowser } from '../../explorer/test/support/browser.ts';
import { createClient } from '../src/index.ts';
import { fetchWithProgress } from '../src/progress.ts';
import { type Api, startTickets } from './support/tickets.ts';

/** The names that the page has. */
declare const lib: {
  readonly createClient: typeof createClient<Api>;
  readonly fetchWithProgress: typeof fetchWithProgress;
};

async function script(): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `export * from './index.ts'; export { fetchWithProgress } from './progress.ts';`,
      resolveDir: fileURLToPath(new URL('../src', import.meta.url)),
    },
    bundle: true,
    format: 'iife',
    globalName: 'lib',
    write: false,
  });
  return outputFiles[0]!.text;
}

t.test('in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const text = await script();
  const asked: string[] = [];
  let app: FastifyInstance | undefined;
  const url = await startTickets(t, (started) => {
    app = started;
    app.get('/', (_request, reply) => reply.type('text/html').send(`<script>${text}</script>`));
    app.addHook('onResponse', async ({ method, headers }, { statusCode }) => {
      asked.push(`${method} ${String(headers['x-trace'] ?? '-')} ${statusCode}`);
    });
  });
  const page = await openPage(t, await openBrowser(t));
  await page.goto(url);
  // Else everything is sent before anything is told. In bytes a second; -1: as fast as it goes.
  const session = await page.context().newCDPSession(page);
  const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 4_000_000 };
  await session.send('Network.emulateNetworkConditions', slow);

  await t.test('the upload progress of a single call is reported', async (t) => {
    const { told, made, text } = await page.evaluate(async () => {
      const api = lib.createClient({ url: '/api', headers: { 'x-trace': 'told' } });
      const told: { loaded: number; total: number }[] = [];
      const fetch = lib.fetchWithProgress((progress) => told.push(progress));
      const screen = new File(['x'.repeat(3_000_000)], 'long.txt', { type: 'text/plain' });
      const made = await api.tickets.create({ title: 'Ü', screen }, { fetch });
      await api.tickets.update(made.id, { title: 'Other' });
      const text = await (await globalThis.fetch(made.screen!.url)).text();
      return { told, made, text: text.length };
    });
    t.match(made, { title: 'Ü', screen: { name: 'long.txt', size: 3_000_000, type: 'text/plain' } });
    t.equal(text, 3_000_000);
    t.ok(told.length > 2, `${told.length} steps`);
    const loaded = told.map((progress) => progress.loaded);
    t.strictSame(
      loaded,
      loaded.toSorted((one, other) => one - other),
    );
    const { total } = told[0]!;
    t.ok(total > 3_000_000 && total < 3_001_000, `${total} bytes with what the form has around them`);
    t.strictSame(told.at(-1), { loaded: total, total });
    t.strictSame(
      asked.filter((line) => line.includes(' told ')),
      ['POST told 201', 'PATCH told 200'],
    );
  });

  await t.test('a client reports progress of all calls, with the same responses as fetch', async (t) => {
    asked.length = 0;
    const answers = await page.evaluate(async () => {
      const api = lib.createClient({ url: '/api', fetch: lib.fetchWithProgress(() => {}) });
      const { id } = await api.tickets.create({ title: 'JSON' });
      const once = await api.tickets.retrieve(id);
      const again = await api.tickets.retrieve(id);
      const stale = await api.tickets.update.safe(id, { title: 'x' }, { ifMatch: '"other"' });
      const fresh = await api.tickets.update.safe(id, { title: 'y' }, { ifMatch: true });
      const gone = await api.tickets.destroy(id);
      const absent = await api.tickets.retrieve.safe(id);
      const large = new Blob(['x'.repeat(6_000_000)], { type: 'text/plain' });
      const refused = await api.tickets.create.safe({ title: 'Large', screen: large });
      const statuses = [stale, fresh, absent, refused].map(({ status }) => status);
      const code = refused.ok ? '' : refused.error.code;
      return { isSame: JSON.stringify(once) === JSON.stringify(again), gone: gone === undefined, statuses, code };
    });
    t.strictSame(answers, {
      isSame: true,
      gone: true,
      statuses: [412, 200, 404, 413],
      code: 'payload_too_large',
    });
    t.strictSame(
      asked.map((line) => line.replace(' - ', ' ')),
      ['POST 201', 'GET 304', 'GET 304', 'PATCH 412', 'PATCH 200', 'DELETE 204', 'GET 404', 'POST 413'],
    );
  });

  await t.test('a signal ends it, and the call rejects with its reason', async (t) => {
    const said = await page.evaluate(async () => {
      const { fetchWithProgress, createClient } = lib;
      const api = createClient({ url: '/api' });
      const screen = new Blob(['x'.repeat(4_000_000)], { type: 'text/plain' });
      const reasonOf = async (upload: Promise<unknown>): Promise<string> =>
        upload.then(
          () => 'sent',
          (error: unknown) => `${(error as Error).name}: ${(error as Error).message}`,
        );
      const ending = new AbortController();
      const fetch = fetchWithProgress(() => ending.abort(new Error('enough')));
      const ended = await reasonOf(api.tickets.create({ title: 'Ended', screen }, { fetch, signal: ending.signal }));
      const before = await reasonOf(
        fetchWithProgress(() => {})('/api/tickets', { signal: AbortSignal.abort(new Error('before')) }),
      );
      const byFetch = new AbortController();
      const plain = await reasonOf(
        fetchWithProgress(() => byFetch.abort())('/api/tickets', {
          method: 'POST',
          body: screen,
          signal: byFetch.signal,
        }),
      );
      const stream = await reasonOf(
        fetchWithProgress(() => {})('/api/tickets', { method: 'POST', body: screen.stream() }),
      );
      const records = (await api.tickets.list()).results.map(({ title }) => title);
      return { ended, before, plain, stream, records };
    });
    t.equal(said.ended, 'Error: enough');
    t.equal(said.before, 'Error: before');
    t.match(said.plain, /^AbortError: /);
    t.equal(said.stream, 'TypeError: fetchWithProgress: a stream cannot be sent');
    t.strictSame(said.records, ['Other'], 'nothing is kept of what was ended');
  });

  await t.test('a server that does not respond gives the same error as fetch', async (t) => {
    await app!.close();
    const said = await page.evaluate(async () => {
      const api = lib.createClient({ url: '/api', fetch: lib.fetchWithProgress(() => {}) });
      const answer = await api.tickets.create.safe({ title: 'x' });
      return answer.ok ? [] : [answer.status, answer.error.code, (answer.error.cause as Error).name];
    });
    t.strictSame(said, [0, 'network_error', 'TypeError']);
  });
});

t.test('without XMLHttpRequest, fetch is used', async (t) => {
  const url = await startTickets(t);
  const told: unknown[] = [];
  const fetch = fetchWithProgress((progress) => told.push(progress));
  const api = createClient<Api>({ url: `${url}/api`, fetch });
  t.equal((await api.tickets.create({ title: 'Node' })).title, 'Node');
  t.strictSame(told, []);
});
