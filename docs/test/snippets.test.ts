/**
 * Every block of TypeScript in the documentation compiles, and what is marked as a program runs:
 *
 *     ```ts                      compiles by itself
 *     ```ts continues            compiles together with the block before it
 *     ```ts step=2               belongs to step 2 of a tutorial, which starts with the files of step 1
 *     ```ts run                  ends with exit code 0, and prints what a fence marked `output` after it says
 *     ```ts run postgres         the same, with an empty database of PostgreSQL in DATABASE_URL; without a server only compiles
 *     ```ts serve=/products      listens, and answers GET /products with 200; what handles SIGTERM stops under load
 */
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { createPostgreSqlDatabase, skipPostgreSql } from '../../packages/core/test/support/databases.ts';
import { PACKAGES } from '../site/packages.ts';
import { compileProjects } from './support/compile-projects.ts';
import { codeBlocks } from './support/code-block.ts';
import { stopUnderLoad } from './support/stop-under-load.ts';
import { augmentationOf, type Snippet, snippetsOf, writeProject, writeSnippets } from './support/snippet-project.ts';

const PROGRAM_TIMEOUT_MS = 30_000;

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = join(root, 'docs/.snippets');
rmSync(scratch, { recursive: true, force: true });

/** The entities of the examples, which docs/views.md shows: every page may import them. */
const sharedEntities = codeBlocks('docs/views.md', readFileSync(join(root, 'docs/views.md'), 'utf8'))[0]?.code ?? '';
/** The projects of the compiler by what their documents declare about the types of Viewset. */
const projects = new Map([['', join(scratch, 'shared')]]);
const all: Snippet[] = [];
for (const document of documents()) {
  const blocks = codeBlocks(document, readFileSync(join(root, document), 'utf8'));
  const name = document.replace(/\.md$/, '').replaceAll('/', '-');
  const augmentation = augmentationOf(blocks);
  const project = projects.get(augmentation) ?? join(scratch, name);
  const folder = join(project, name);
  const snippets = snippetsOf(folder, blocks);
  if (snippets.length === 0) continue;
  writeProject(project);
  writeSnippets(folder, snippets, sharedEntities);
  projects.set(augmentation, project);
  all.push(...snippets);
}

const mistakes = compileProjects(root, [...projects.values()]);
for (const snippet of all) {
  t.test(`${snippet.document}:${snippet.line} (${relative(scratch, snippet.path)})`, async (t) => {
    t.strictSame(
      mistakes.filter(({ path }) => path === snippet.path).map(({ text }) => `${snippet.document}${text}`),
      [],
      'compiles',
    );
    const words = snippet.blocks.flatMap((block) => block.words);
    if (words.includes('run')) await testProgram(t, snippet, words.includes('postgres'));
    const address = words.find((word) => word.startsWith('serve='))?.slice('serve='.length);
    if (address !== undefined) await testServer(t, snippet, address);
  });
}
const elsewhere = mistakes.filter(({ path }) => !path.startsWith(scratch)).map(({ path, text }) => path + text);
t.strictSame(elsewhere.slice(0, 3), [], 'what the documentation imports compiles');

function documents(): string[] {
  const markdownIn = (folder: string): string[] =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name));
  return [...markdownIn('.'), ...markdownIn('docs'), ...PACKAGES.flatMap((name) => markdownIn(`packages/${name}`))];
}

function expectedOutput(snippet: Snippet): string | undefined {
  return snippet.blocks.find((block) => block.output !== undefined)?.output;
}

async function testProgram(t: Test, snippet: Snippet, onPostgreSql: boolean): Promise<void> {
  const skip = onPostgreSql && skipPostgreSql();
  await t.test('runs', { skip }, async (t) => {
    const env = onPostgreSql ? { DATABASE_URL: await createPostgreSqlDatabase(t) } : {};
    t.strictSame(runProgram(snippet, env), { exitCode: 0, output: expectedOutput(snippet) });
  });
}

function runProgram(snippet: Snippet, env: NodeJS.ProcessEnv): { exitCode: number | null; output: string | undefined } {
  const { status, stdout } = spawnSync(process.execPath, [snippet.path], {
    cwd: join(snippet.path, '..'),
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: PROGRAM_TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { exitCode: status, output: expectedOutput(snippet) === undefined ? undefined : stdout.trimEnd() };
}

async function testServer(t: Test, snippet: Snippet, path: string): Promise<void> {
  const preload = new URL('support/any-port.ts', import.meta.url).href;
  const server = fork(snippet.path, { cwd: join(snippet.path, '..'), execArgv: ['--import', preload], silent: true });
  const exited = once(server, 'exit');
  let log = '';
  for (const stream of [server.stdout, server.stderr]) stream?.on('data', (chunk: Buffer) => (log += chunk.toString()));
  try {
    const port = await Promise.race([
      once(server, 'message', { signal: AbortSignal.timeout(PROGRAM_TIMEOUT_MS) }).then(([port]) => Number(port)),
      exited.then(() => undefined),
    ]);
    if (port === undefined) throw new Error(`${snippet.document}:${snippet.line}: the server stopped:\n${log}`);
    const url = new URL(path, `http://127.0.0.1:${port}`);
    t.equal((await fetch(url)).status, 200, `GET ${path}`);
    if (!snippet.blocks.some(({ code }) => code.includes('SIGTERM'))) return;
    server.disconnect();
    const { code, signal, statuses } = await stopUnderLoad(server, url);
    // A process that is told to stop is not ready.
    const others = [...statuses].filter((status) => !(status === 503 && path === '/health/ready'));
    t.strictSame([code, signal, others], [0, null, [200]], 'SIGTERM under load');
  } finally {
    server.kill('SIGKILL');
    await exited;
  }
}
