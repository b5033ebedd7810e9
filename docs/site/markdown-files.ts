import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vitepress';
import { llmsText } from './llms-text.ts';
import { type Site, stagePage } from './stage.ts';

/** Writes each page's Markdown and `llms.txt` beside the pages. */
export function writeMarkdown(site: Site, stage: string, out: string): void {
  cpSync(stage, out, {
    recursive: true,
    filter: (path) => !/\.[^/.]+$/.test(path.slice(stage.length)) || path.endsWith('.md'),
  });
  writeFileSync(join(out, 'llms.txt'), llmsText(site));
}

/** Answers requests for them while the site is served for writing. A page's script asks for the same address: for that, Vite answers. */
export function serveMarkdown(site: Site, stage: string): Plugin {
  return {
    name: 'viewset-markdown',
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const path = request.url ?? '';
        const isScript = request.headers['sec-fetch-dest'] === 'script' || path.includes('?');
        if (isScript || !/\.(md|txt)$/.test(path)) return next();
        response.setHeader('content-type', 'text/plain; charset=utf-8');
        if (path === '/llms.txt') return void response.end(llmsText(site));
        try {
          response.end(readFileSync(join(stage, path)));
        } catch {
          next();
        }
      });
    },
  };
}

/** Writes a page of the site anew when its source changes. The docstrings are read at start alone. */
export function followSources(site: Site, root: string, stage: string): Plugin {
  return {
    name: 'viewset-sources',
    configureServer({ watcher }) {
      const pages = new Map(site.pages.map((page) => [join(root, page.source), page]));
      watcher.add([...pages.keys()]);
      watcher.on('change', (path) => {
        const page = pages.get(path);
        if (page !== undefined) stagePage(root, stage, page, site);
      });
    },
  };
}
