import t from 'tap';
import { prefersHtml } from '../src/index.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

t.test('a client that prefers text/html to application/json gets a page', async (t) => {
  for (const accept of [
    'text/html',
    BROWSER,
    'TEXT/HTML',
    'text/*',
    'text/html;charset=utf-8',
    'application/json;q=0.5, text/html',
    'text/html;q=0.6,application/json; q=0.5',
    'application/*;q=0.2, text/html;q=0.3',
    'application/json;q=0, */*',
  ]) {
    t.equal(prefersHtml({ headers: { accept } }), true, accept);
  }
});

t.test('everybody else gets JSON', async (t) => {
  for (const accept of [
    undefined,
    '',
    '*/*',
    'application/json',
    'application/json, text/plain, */*',
    'text/html, application/json',
    'text/html;q=0.5, application/json',
    'text/html;q=0',
    'text/html;q=0, */*',
    'text/html;q=2',
    'text/html;q=much',
    'text/plain',
    'text/html, */*',
    ',,;;',
  ]) {
    t.equal(prefersHtml({ headers: accept === undefined ? {} : { accept } }), false, String(accept));
  }
});
