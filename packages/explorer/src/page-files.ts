import { ImproperlyConfigured } from '@viewset/core';
import { readFile } from 'node:fs/promises';

/** The text of the page's scripts and of its style. */
export interface PageFiles {
  readonly script: string;
  /** Makes QR codes; loaded when one is shown. */
  readonly qr: string;
  /** Follows lists that are live; loaded when one is shown. */
  readonly live: string;
  readonly style: string;
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

async function builtFiles(folder: URL): Promise<PageFiles> {
  try {
    const [script, qr, live, style] = await Promise.all(
      ['explorer.js', 'qr.js', 'live.js', 'explorer.css'].map((name) => readFile(new URL(name, folder), 'utf8')),
    );
    return { script: script!, qr: qr!, live: live!, style: style! };
  } catch (cause) {
    throw new ImproperlyConfigured('explorer: the page has not been built; run pnpm build', { cause });
  }
}
