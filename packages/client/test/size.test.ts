import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import t from 'tap';

/** The size that the client promises to stay under. */
const MAX_BYTES = 4000;

t.test('the client is small, and depends only on standard Web APIs', async (t) => {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL('../src/index.ts', import.meta.url))],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    metafile: true,
  });
  const bytes = gzipSync(outputFiles[0]!.contents).length;
  t.comment(`${bytes} bytes, minified and gzipped`);
  t.ok(bytes < MAX_BYTES, `${bytes} bytes must be fewer than ${MAX_BYTES}`);
  const strange = Object.keys(metafile.inputs).filter((path) => !/(?:^|\/)src\/[a-z-]+\.ts$/.test(path));
  t.strictSame(strange, [], 'no module of another package');
});
