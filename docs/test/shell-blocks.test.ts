/** The commands of the pages can be pasted as they are: in bash, in zsh, which is the shell of every Mac, and in PowerShell. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = globSync(
  ['*.md', 'docs/*.md', 'packages/*/README.md', 'packages/create/template/*.md', 'examples/*/README.md'],
  {
    cwd: root,
  },
);

/** What is wrong with a line of a shell block; undefined if nothing is. */
function problemOf(line: string): string | undefined {
  if (/^\s*#/.test(line)) {
    // zsh takes such a line for a command, which it does not find. With these characters it would do something.
    return /['"`$;&|<>()]/.test(line) ? 'a comment has a character that a shell acts on' : undefined;
  }
  const unquoted = line.replaceAll(/'[^']*'|"(?:\\.|[^"\\])*"/g, 'Q');
  if (/\s#/.test(unquoted)) return 'zsh takes a comment behind a command for arguments; put it on a line of its own';
  if (/[*?[\]]/.test(unquoted)) return 'zsh looks for files of this pattern; quote it';
  if (unquoted.endsWith('\\')) return 'PowerShell does not continue a line at a backslash; write one line';
  return undefined;
}

function problemsIn(page: string): string[] {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/^```(?:sh|bash)\b[^\n]*\n(.*?)^```/gms);
  const lines = [...blocks].flatMap(([, block = '']) => block.split('\n'));
  return lines.flatMap((line) => {
    const problem = problemOf(line);
    return problem === undefined ? [] : [`${line}: ${problem}`];
  });
}

t.test('commands can be pasted', async (t) => {
  t.ok(pages.length > 40, 'the pages can be found');
  for (const page of pages.toSorted()) t.strictSame(problemsIn(page), [], page);
});

t.test('commands that cannot be pasted are found', async (t) => {
  for (const line of [
    'pnpm add @viewset/core@workspace:*',
    'npx viewset add resource Review stars:integer?',
    'pnpm demo    # the shop',
    "# what isn't a comment in zsh",
    'curl localhost:3000 \\',
  ]) {
    t.type(problemOf(line), 'string', line);
  }
  for (const line of ["pnpm add '@viewset/core@workspace:*'", '# the shop', `curl "localhost/#a?b"`, 'pnpm demo']) {
    t.equal(problemOf(line), undefined, line);
  }
});
