import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';
import { eachLater } from '../src/later-scripts.ts';
import type { PageFiles } from '../src/page-files.ts';

/** The page, and what is in it. */
interface BundledPage extends PageFiles {
  /** The names of the packages that the bundle contains. */
  readonly bundled: readonly string[];
}

/** Bundles the page's scripts and its style, for browsers of the last three years. */
export async function bundlePage({ minify }: { readonly minify: boolean }): Promise<BundledPage> {
  const { outputFiles, metafile } = await build({
    entryPoints: {
      explorer: pathOf('main.tsx'),
      style: pathOf('style.css'),
      ...eachLater((name) => pathOf(`${name}.ts`)),
    },
    outdir: pathOf('out'),
    bundle: true,
    minify,
    write: false,
    metafile: true,
    format: 'esm',
    target: ['es2022', 'chrome120', 'firefox121', 'safari17'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    banner: {
      js: '/*! Has Preact in it: MIT, Copyright (c) 2015-present Jason Miller; and uqr: MIT, Copyright (c) 2023 Anthony Fu, (c) Project Nayuki */',
    },
    logLevel: 'silent',
  });
  const textOf = (name: string): string => outputFiles.find(({ path }) => path.endsWith(name))!.text;
  return {
    script: textOf('explorer.js'),
    style: textOf('style.css'),
    later: eachLater((name) => textOf(`${name}.js`)),
    bundled: packagesOf(Object.keys(metafile.inputs)),
  };
}

function packagesOf(files: readonly string[]): string[] {
  const names = files.map((file) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []);
  return [...new Set(names.flat())].toSorted();
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
