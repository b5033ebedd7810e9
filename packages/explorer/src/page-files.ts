import { ImproperlyConfigured } from '@viewset/core';
import { readFileSync } from 'node:fs';
import { eachLater, type LaterScript } from './later-scripts.ts';

/** The text of the page's scripts and of its style. */
export interface PageFiles {
  readonly script: string;
  readonly style: string;
  readonly later: Readonly<Record<LaterScript, string>>;
}

/**
 * Reads the page as it was bundled when the package was built. The package's own sources bundle it anew at each start, so
 * that nobody looks at an old one; without esbuild, which only development has, they take the one that was built.
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
