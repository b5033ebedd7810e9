import { gzipSync } from 'node:zlib';
import t from 'tap';
import { bundlePage } from '../page/bundle-page.ts';

/** The size that the page promises to stay under, its script and its style together. */
const MAX_BYTES = 60_000;

t.test('the page is small, and requests no other server', async (t) => {
  const { script, style, later } = await bundlePage({ minify: true });
  const bytes = gzipSync(script).length + gzipSync(style).length;
  t.comment(`${bytes} bytes, minified and gzipped`);
  for (const [name, text] of Object.entries(later)) t.comment(`${gzipSync(text).length} bytes more with ${name}.js`);
  t.ok(bytes < MAX_BYTES, `${bytes} bytes must be fewer than ${MAX_BYTES}`);
  t.match(script, /^\/\*! Has Preact in it: MIT.*; and uqr: MIT/, 'the licence of what is in it asks to be told');
  t.notMatch(script, /\beval\(|new Function\(|localStorage/);
  t.strictSame([...`${script}${style}`.matchAll(/https?:\/\/(?!www\.w3\.org\/)[^"'`\s]+/g)], []);
});
