/** Writes the page into `dist/page`, as it is published, and the bill of materials, which names what the page contains. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { readBillOfMaterials } from './bill-of-materials.ts';
import { bundlePage } from './bundle-page.ts';

const folder = new URL('../dist/page/', import.meta.url);
const { script, style, later, bundled } = await bundlePage({ minify: true });
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('explorer.js', folder), script);
writeFileSync(new URL('explorer.css', folder), style);
for (const [name, text] of Object.entries(later)) writeFileSync(new URL(`${name}.js`, folder), text);

const bill = readBillOfMaterials(bundled);
writeFileSync(new URL('../sbom.cdx.json', folder), JSON.stringify(bill, null, 2));
