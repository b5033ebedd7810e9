/** Writes the page into `dist/page`, as it is published. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { bundlePage } from './bundle-page.ts';

const folder = new URL('../dist/page/', import.meta.url);
const { script, style, later } = await bundlePage({ minify: true });
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('explorer.js', folder), script);
writeFileSync(new URL('explorer.css', folder), style);
for (const [name, text] of Object.entries(later)) writeFileSync(new URL(`${name}.js`, folder), text);
