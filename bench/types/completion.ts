/**
 * Measures how long an editor waits for the completions of a client's call, `api.things7.`, in an application of two hundred views: with
 * the type of the router, and with the declaration file that `describeApi()` is for. `node bench/types/completion.ts`; not part of
 * `pnpm bench`. Each round changes the file first, as typing does.
 */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runTypeChecker } from '../../scripts/type-checker.ts';
import { writeApplication } from './application.ts';
import { LanguageServer } from '../../scripts/language-server.ts';

const VIEWS = 200;
const ROUNDS = 10;

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = join(root, 'bench/.completion');
rmSync(scratch, { recursive: true, force: true });
mkdirSync(scratch, { recursive: true });
try {
  writeApplication(scratch, VIEWS, false);
  writeProject();
  for (const [name, api] of [
    ['the type of the router', `import type { Api } from './server.ts';`],
    ['a declaration file', `import type { api } from './types/api.d.ts';\ntype Api = typeof api;`],
  ] as const) {
    const times = await completionTimes(api);
    console.log(`${name}: the first ${times[0]!.toFixed(0)} ms, then ${median(times.slice(1)).toFixed(0)} ms`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function writeProject(): void {
  const sources = ['core', 'client'].map((name) => [
    `@viewset/${name}`,
    [join(root, 'packages', name, 'src/index.ts')],
  ]);
  const compilerOptions = { paths: Object.fromEntries(sources) as object, noUnusedLocals: false };
  const config = { extends: '../../tsconfig.base.json', compilerOptions, include: ['client.ts'] };
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(config));
  const described = `import { describeApi } from '@viewset/client';\nimport type { Api } from './server.ts';\n`;
  writeFileSync(join(scratch, 'api.ts'), `${described}export const api = describeApi<Api>();\n`);
  const options = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--rootDir', root];
  const declared = { extends: './tsconfig.json', include: [], files: ['api.ts'] };
  writeFileSync(join(scratch, 'tsconfig.api.json'), JSON.stringify(declared));
  runTypeChecker(scratch, ['-p', 'tsconfig.api.json', ...options, '--outDir', join(scratch, 'all')]);
  mkdirSync(join(scratch, 'types'));
  copyFileSync(join(scratch, 'all/bench/.completion/api.d.ts'), join(scratch, 'types/api.d.ts'));
}

/** Requests completions repeatedly, in milliseconds. */
async function completionTimes(api: string): Promise<number[]> {
  const file = join(scratch, 'client.ts');
  const lines = [`import { createClient } from '@viewset/client';`, ...api.split('\n')];
  lines.push(`const client = createClient<Api>({ url: '/api' });`, 'client.things7.');
  const text = lines.join('\n');
  writeFileSync(file, text);
  const server = new LanguageServer(scratch);
  const times: number[] = [];
  try {
    const uri = pathToFileURL(file).href;
    await server.open(uri, text);
    for (let round = 0; round <= ROUNDS; round++) {
      const startedAt = performance.now();
      const names = await server.completions(uri, { line: lines.length - 1, character: 'client.things7.'.length });
      times.push(performance.now() - startedAt);
      if (!names.includes('recount')) throw new Error(`The completions are ${names.join(', ')}`);
      server.change(uri, `${text}\n// ${round}`);
    }
  } finally {
    server.close();
  }
  return times;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
