import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, Publisher, startLibrary } from './support/app.ts';

forEachDatabase(t, { entities: [Book, Publisher], only: ['sqlite'] }, async (t, orm) => {
  const app = await startLibrary(t, orm);

  t.test('the page has no inline script, and a policy that forbids them', async (t) => {
    const { statusCode, headers, body } = await app.inject('/docs');
    t.equal(statusCode, 200);
    t.equal(headers['content-type'], 'text/html; charset=utf-8');
    const policy = String(headers['content-security-policy']);
    t.match(policy, /default-src 'none'; script-src 'self';/);
    t.notMatch(policy, /script-src[^;]*unsafe/);
    t.notMatch(policy, /https?:/, 'nothing comes from another server');
    const scripts = [...body.matchAll(/<script([^>]*)>([^<]*)<\/script>/g)];
    t.ok(scripts.length > 0 && scripts.every(([, , text]) => text === ''));
    t.notMatch(body, /https?:\/\//);
    t.match(body, /data-url="\/openapi\.json"/);
    t.match(body, /<title>Library<\/title>/);
  });

  t.test('the script comes from the server itself', async (t) => {
    const { statusCode, headers, body } = await app.inject('/docs/reference.js');
    t.equal(statusCode, 200);
    t.equal(headers['content-type'], 'text/javascript; charset=utf-8');
    t.ok(body.length > 1_000_000);
    const again = await app.inject({ url: '/docs/reference.js', headers: { 'if-none-match': String(headers.etag) } });
    t.equal(again.statusCode, 304);
  });

  t.test('neither route is in the document', async (t) => {
    t.notMatch((await app.inject('/openapi.json')).body, /"\/docs/);
  });
});
