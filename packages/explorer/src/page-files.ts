import { ImproperlyConfigured } from '@viewset/core';
import { readFileSync } from 'node:fs';
import { eachLater, type LaterScript } from './later-scripts.ts';

/** The contents of the page's scripts and style. */
export interface PageFiles {
  readonly script: string;
  readonly style: string;
  readonly later: Readonly<Record<LaterScript, string>>;
}

/**
 * Reads the page that was bundled when the package was built. In the repository, bundles the sources again at each
 * start, so that nobody sees an old page. Without esbuild, a development dependency, falls back to the built one.
 */
export async function readPageFiles(): Promise<PageFiles> {
  if (import.meta.url.endsWith('.js')) return builtFiles(new URL('./page/', import.meta.url));
  const { bundlePage } = (await import(new URL('../page/bundle-page.ts', import.meta.url).href)) as {
    bundlePage: (options: { readonly minify: boolean }) => Promise<PageFiles>;
  };
  try {
    return await bundlePage({ minify: false });
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return builtFiles(new URL('../dist/page/', import.meta.url));
  }
}

function builtFiles(folder: URL): PageFiles {
  const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
  try {
    return { script: read('explorer.js'), style: read('explorer.css'), later: eachLater((name) => read(`${name}.js`)) };
  } catch (cause) {
    throw new ImproperlyConfigured('explorer: the page has not been built; run pnpm build', { cause });
  }
}
