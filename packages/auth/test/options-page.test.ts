/** docs/authentication.md has each option of the plugin, once. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { resolveAuthOptions } from '../src/auth-options.ts';

t.test('the table of the page has a row for each option', async (t) => {
  const page = readFileSync(new URL('../../../docs/authentication.md', import.meta.url), 'utf8');
  const [, table = ''] = /\n## Every option of auth\n([^]*?)\n## /.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  let known: readonly string[] = [];
  try {
    resolveAuthOptions({ misspelt: true } as never, '');
  } catch (error) {
    known = /Known options: (.*)$/.exec((error as Error).message)?.[1]?.split(', ') ?? [];
  }
  t.ok(known.length > 20, 'the options can be read');
  t.strictSame(new Set(rows), new Set(known));
  t.equal(rows.length, known.length, 'each has one row');
});
