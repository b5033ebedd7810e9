/** Writes the page into `dist/page`, as it is published. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { bundlePage } from './bundle-page.ts';

const folder = new URL('../dist/page/', import.meta.url);
const { script, qr, live, style } = await bundlePage({ minify: true });
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('explorer.js', folder), script);
writeFileSync(new URL('qr.js', folder), qr);
writeFileSync(new URL('live.js', folder), live);
writeFileSync(new URL('explorer.css', folder), style);
