/**
 * `pnpm coverage [files]`: runs the tests, then names each function of the packages that none of them called, and
 * says how much of the packages ran. `--report` reports what an earlier run has left in NODE_V8_COVERAGE.
 *
 * V8 itself counts, in every process that a test starts too; one that is killed reports nothing.
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseSync } from 'oxc-parser';

/** The coverage of one file in one process: its functions from the outermost inwards, each with counted ranges. */
interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
  }[];
}

interface SourceFile {
  readonly path: string;
  /** JavaScript without comments: each character where it stands in the source. */
  readonly code: string;
  /** For each character whether any process ran it. */
  readonly ran: Uint8Array;
  /** Each function by its place, and whether any process called it. */
  readonly functions: Map<number, { readonly name: string; isCalled: boolean }>;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = process.env['NODE_V8_COVERAGE'] ?? `${root}.tap/coverage`;

if (process.argv[2] !== '--report') {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const env = { ...process.env, NODE_V8_COVERAGE: folder };
  const tests = [`${root}scripts/test.ts`, '--suite=every', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, tests, { cwd: root, env, stdio: 'inherit' }).status ?? 1;
}

const files = new Map(globSync('packages/*/src/**/*.ts', { cwd: root }).map((path) => [urlOf(path), sourceFile(path)]));
for (const name of readdirSync(folder)) {
  for (const script of scriptsIn(readFileSync(join(folder, name), 'utf8'))) {
    const file = files.get(script.url);
    if (file !== undefined) add(script, file);
  }
}
report([...files.values()]);

/** Nothing, if the process was killed while it wrote. */
function scriptsIn(text: string): readonly ScriptCoverage[] {
  try {
    return (JSON.parse(text) as { result: readonly ScriptCoverage[] }).result;
  } catch {
    return [];
  }
}

function urlOf(path: string): string {
  return pathToFileURL(root + path).href;
}

function sourceFile(path: string): SourceFile {
  const source = readFileSync(root + path, 'utf8');
  let code = stripTypeScriptTypes(source);
  for (const { start, end } of parseSync(path.replace(/ts$/, 'js'), code).comments) {
    code = code.slice(0, start) + code.slice(start, end).replaceAll(/[^\n]/g, ' ') + code.slice(end);
  }
  return { path, code, ran: new Uint8Array(code.length), functions: new Map() };
}

function add({ functions }: ScriptCoverage, file: SourceFile): void {
  const ran = new Uint8Array(file.code.length);
  for (const { functionName, ranges } of functions) {
    for (const { startOffset, endOffset, count } of ranges) ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
    const [range] = ranges;
    // The first function is the module itself.
    if (range === undefined || range.endOffset >= file.code.length) continue;
    const known = file.functions.get(range.startOffset) ?? { name: functionName, isCalled: false };
    known.isCalled ||= range.count > 0;
    file.functions.set(range.startOffset, known);
  }
  for (const [place, flag] of ran.entries()) file.ran[place]! |= flag;
}

function report(sources: readonly SourceFile[]): void {
  for (const { path, code, functions } of sources) {
    for (const [place, { name, isCalled }] of functions) {
      if (isCalled) continue;
      console.log(`never called: ${path}:${lineOf(code, place)} ${name || '(a function without a name)'}`);
    }
  }
  const lines = sources.flatMap(linesOf);
  const functions = sources.flatMap((source) => [...source.functions.values()]);
  const [linesRun, called] = [lines.filter(Boolean), functions.filter(({ isCalled }) => isCalled)];
  console.log(
    `coverage of packages/*/src: ${share(linesRun, lines)} of ${lines.length} lines of code, ` +
      `${share(called, functions)} of ${functions.length} functions`,
  );
}

/** For each line that has code, whether any of that ran. */
function linesOf({ code, ran }: SourceFile): boolean[] {
  const lines: boolean[] = [];
  let start = 0;
  for (const line of code.split('\n')) {
    const places = [...line.matchAll(/[\w"'`]/g)].map(({ index }) => start + index);
    if (places.length > 0) lines.push(places.some((place) => ran[place] === 1));
    start += line.length + 1;
  }
  return lines;
}

function lineOf(code: string, place: number): number {
  return code.slice(0, place).split('\n').length;
}

function share(part: readonly unknown[], all: readonly unknown[]): string {
  return `${((100 * part.length) / all.length).toFixed(1)} %`;
}
