import { auth, LogEmailSender } from '@viewset/auth';
import { IPRateLimit, ImproperlyConfigured, serverOptions, viewset } from '@viewset/core';
import { fastify } from 'fastify';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import t from 'tap';
import { explorer } from '../src/index.ts';
import { Account } from '../../auth/test/support/entities.ts';
import { ENTITIES, startLibrary } from './support/library.ts';

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

forEachDatabase(t, { entities: ENTITIES, only: ['sqlite'] }, async (t, orm) => {
  const app = await startLibrary(t, orm);
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

  t.test('a root, a collection and a record are a page for a browser', async (t) => {
    for (const url of ['/api', '/api/', '/api/books', '/api/books/1', '/api/books?search=x', '/api/accounts/7']) {
      const { statusCode, headers, body } = await get(url, html);
      t.equal(statusCode, 200, url);
      t.equal(headers['content-type'], 'text/html; charset=utf-8', url);
      t.equal(headers.vary, 'Accept', url);
      t.match(
        body,
        /<div id="explorer" data-document="\/openapi.json" data-qr="\/explorer\/[^"]+" data-live="\/explorer\/[^"]+"><header class="top"><span class="brand">/,
      );
    }
  });

  t.test('the page is the same for everybody, and shows no data', async (t) => {
    const pages = await Promise.all(['/api', '/api/books/1', '/api/accounts'].map((url) => get(url, html)));
    t.equal(new Set(pages.map(({ body }) => body)).size, 1);
    const { headers } = pages[0]!;
    const again = await get('/api', { ...html, 'if-none-match': String(headers.etag) });
    t.equal(again.statusCode, 304);
    t.equal(again.headers.vary, 'Accept');
    t.equal(headers['cache-control'], 'no-cache');
    const head = await app.inject({ method: 'HEAD', url: '/api/books', headers: html });
    t.equal(head.statusCode, 200);
    t.equal(head.headers['content-type'], 'text/html; charset=utf-8');
    t.equal(head.body, '');
  });

  t.test('other clients get JSON as before, with a Vary header', async (t) => {
    for (const accept of ['*/*', 'application/json', '']) {
      const { statusCode, headers } = await get('/api/books', accept === '' ? {} : { accept });
      t.equal(statusCode, 200);
      t.match(headers['content-type'], 'application/json');
      t.equal(headers.vary, 'Accept');
    }
    const refused = await get('/api/accounts');
    t.equal(refused.statusCode, 401, 'a token is asked for');
    t.equal(refused.headers.vary, 'Accept', 'of a refusal too');
  });

  t.test('other routes have no page, and no Vary header', async (t) => {
    const action = await get('/api/books/newest', html);
    t.match(action.headers['content-type'], 'application/json');
    t.equal(action.headers.vary, undefined);
    const unknown = await get('/api/nothing', html);
    t.equal(unknown.statusCode, 404);
    t.match(unknown.headers['content-type'], 'application/json');
    const wrong = await app.inject({ method: 'POST', url: '/api', headers: html });
    t.equal(wrong.statusCode, 405);
    const written = await app.inject({ method: 'POST', url: '/api/books', headers: html, payload: {} });
    t.equal(written.statusCode, 401);
    t.equal(written.headers.vary, undefined);
    t.equal((await get('/health/', html)).json().status, 'ok');
  });

  t.test('the policy permits only scripts and styles of the server', async (t) => {
    const { headers, body } = await get('/api', html);
    const policy = String(headers['content-security-policy']);
    t.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/);
    t.notMatch(policy, /unsafe|https?:|\*/);
    t.equal(headers['x-content-type-options'], 'nosniff');
    t.notMatch(body, /https?:\/\/|<style|style=| on\w+=/);
    const scripts = [...body.matchAll(/<script([^>]*)>([^<]*)<\/script>/g)];
    t.ok(scripts.length === 1 && scripts[0]![2] === '', 'no script stands in the page');
  });

  t.test('its files come from the server, need no token, and may be cached forever', async (t) => {
    const { body } = await get('/api', html);
    const urls = [...body.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1]!);
    t.equal(urls.length, 2);
    for (const url of urls) {
      const { statusCode, headers } = await get(url);
      t.equal(statusCode, 200, url);
      t.match(headers['content-type'], url.endsWith('.js') ? 'text/javascript' : 'text/css');
      t.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
      t.equal((await get(url, { 'if-none-match': String(headers.etag) })).statusCode, 304);
    }
    t.equal((await get('/explorer/other.js', html)).statusCode, 404);
    t.notMatch((await get('/openapi.json')).body, /"\/explorer/, 'they are not in the document');
  });

  t.test('a page counts like any request of an address', async (t) => {
    const throttled = await startLibrary(t, orm, { throttle: new IPRateLimit(2, 60) });
    const statuses = [];
    for (let count = 0; count < 3; count++) {
      const { statusCode, headers } = await throttled.inject({ url: '/api/books', headers: html });
      statuses.push(statusCode);
      t.equal(headers['ratelimit-limit'], '2');
    }
    t.strictSame(statuses, [200, 200, 429]);
  });

  t.test('names of other hooks in Vary stay', async (t) => {
    const app = fastify(serverOptions());
    t.teardown(() => app.close());
    app.addHook('onRequest', (_request, reply, done) => {
      reply.header('vary', 'Origin');
      done();
    });
    await app.register(viewset, { orm });
    await app.register(explorer);
    app.get('/plain', () => 'plain');
    t.equal((await app.inject('/plain')).headers.vary, 'Origin');
    const library = await startLibrary(t, orm, {
      within: (scope) => {
        scope.addHook('onRequest', (_request, reply, done) => {
          reply.header('vary', `${String(reply.getHeader('vary'))}, Origin`);
          done();
        });
      },
    });
    t.equal((await library.inject('/api/books')).headers.vary, 'Accept, Origin');
  });

  t.test('options are checked at registration', async (t) => {
    const start = async (options: object): Promise<void> => {
      const app = fastify();
      t.teardown(() => app.close());
      await app.register(viewset, { orm });
      await app.register(explorer, options);
    };
    await t.rejects(start({ path: '/x' }), ImproperlyConfigured);
    await t.rejects(start({ title: '' }), { message: /"title" must be a text/ });
    await t.rejects(start({ assetsPath: 'explorer' }), { message: /"assetsPath" must be a path/ });
    await t.rejects(start({ documentPath: 3 }), { message: /"documentPath"/ });
    const alone = fastify();
    t.teardown(() => alone.close());
    await t.rejects(async () => alone.register(explorer), /@viewset\/core/, 'it needs the viewset plugin');
    const late = fastify();
    t.teardown(() => late.close());
    await late.register(viewset, { orm });
    await late.register(auth, {
      account: Account,
      urlPrefix: '/api/auth',
      secret: 'a secret of at least thirty-two bytes',
      mailer: new LogEmailSender(late.log),
    });
    await t.rejects(async () => late.register(explorer), { message: /register it before auth/ });
  });
});
