import { fastify } from 'fastify';
import t from 'tap';
import { sendStaticFile, staticFile } from '../../src/index.ts';

t.test('a static file has an ETag, and a matching If-None-Match returns 304', async (t) => {
  const file = staticFile('text/plain; charset=utf-8', 'User-agent: *');
  const app = fastify();
  t.teardown(() => app.close());
  app.get('/robots.txt', (request, reply) => sendStaticFile(request, reply, file));
  app.get('/kept.txt', (request, reply) => sendStaticFile(request, reply, file, 'public, max-age=60'));
  const answer = await app.inject('/robots.txt');
  t.match(answer, { statusCode: 200, body: 'User-agent: *', headers: { 'cache-control': 'no-cache' } });
  t.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
  t.equal((await app.inject('/kept.txt')).headers['cache-control'], 'public, max-age=60');
  t.match(answer.headers.etag, /^"[\w-]{22}"$/);
  t.equal(staticFile('text/html', 'User-agent: *').tag, file.tag, 'by its bytes alone');
  t.not(staticFile('text/plain', 'User-agent: x').tag, file.tag);
  for (const known of [file.tag, `W/${file.tag}`, `"other", ${file.tag}`, '*']) {
    const again = await app.inject({ url: '/robots.txt', headers: { 'if-none-match': known } });
    t.match(again, { statusCode: 304, body: '', headers: { etag: file.tag, 'cache-control': 'no-cache' } }, known);
  }
  t.equal((await app.inject({ url: '/robots.txt', headers: { 'if-none-match': '"other"' } })).statusCode, 200);
  for (const [wanted, status] of [
    [file.tag, 200],
    ['*', 200],
    [`W/${file.tag}`, 412],
    ['"other"', 412],
  ] as const) {
    t.equal((await app.inject({ url: '/robots.txt', headers: { 'if-match': wanted } })).statusCode, status, wanted);
  }
});
