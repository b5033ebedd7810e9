/** Each row of docs/security.md says one of three things, and names a test if it says that something is met. */
import { readFileSync } from 'node:fs';
import t from 'tap';

const text = readFileSync(new URL('../security.md', import.meta.url), 'utf8');
const [page = ''] = text.split('## Attacks that we tested');
// The table of what stays after a theft has cells of another kind: packages/auth tries each.
const checklists = page.replace(/^## What stays after a theft$.*?(?=^## )/ms, '');
const rows = [...checklists.matchAll(/^\| (?!item|-)(.*) \|$/gm)].map((match) => (match[1] ?? '').split(' | '));

t.ok(rows.length > 50, 'the tables can be read');
for (const [item = '', status, , tests = ''] of rows) {
  t.match(status, /^(met|the application's|not applicable)$/, `${item}: says which`);
  // That the files exist is what links.test.ts checks.
  if (status === 'met') t.match(tests, /\]\(\.\.\/(packages|examples)\/\S+\.test\.ts\)/, `${item}: a test shows it`);
}
