import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';

/** Bundles the page's script and its style, for browsers of the last three years. */
export async function bundlePage({ minify }: { readonly minify: boolean }): Promise<{ script: string; style: string }> {
  const { outputFiles } = await build({
    entryPoints: { explorer: pathOf('main.tsx'), style: pathOf('style.css') },
    outdir: pathOf('out'),
    bundle: true,
    minify,
    write: false,
    format: 'esm',
    target: ['es2022', 'chrome120', 'firefox121', 'safari17'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    banner: {
      js: '/*! Has Preact in it: MIT, Copyright (c) 2015-present Jason Miller; and uqr: MIT, Copyright (c) 2023 Anthony Fu, (c) Project Nayuki */',
    },
    logLevel: 'silent',
  });
  const textOf = (ending: string): string => outputFiles.find(({ path }) => path.endsWith(ending))!.text;
  return { script: textOf('.js'), style: textOf('.css') };
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
