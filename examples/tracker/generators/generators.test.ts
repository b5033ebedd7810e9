/**
 * Generates clients of the tracker's document, checks their types or compiles them, and uses each against the tracker: it lists with a
 * filter, creates one record and several, deletes them, exports, and uploads a file. npm, Maven and pip bring the generators.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import {
  fetchOpenapiGenerator,
  fetchTypescriptGenerators,
  goProgram,
  run,
  skipWithout,
} from '../../../scripts/client-generators.ts';
import { runTypeChecker } from '../../../scripts/type-checker.ts';
import { withTracker } from '../test/tracker.ts';

const isCi = process.env['CI'] === 'true';
const packages = fetchTypescriptGenerators();
const skipTypescript = packages === undefined && !isCi && 'the registry does not answer: NOT TESTED';
const skipJava = skipWithout(['java', '-version'], ['mvn', '--version']);
const skipPython = skipJava || skipWithout(['python3', '--version']);
const go = goProgram();
const skipGo = skipJava || (go === undefined && !isCi && 'Go is not there, nor does PyPI answer: NOT TESTED');
const TYPES = fileURLToPath(new URL('../../../node_modules/@types', import.meta.url));

withTracker(
  async (t, tracker) => {
    t.setTimeout(900_000);
    await tracker.app.listen({ port: 0, host: '127.0.0.1' });
    const url = tracker.app.listeningOrigin;
    const folder = mkdtempSync(join(tmpdir(), 'viewset-generators-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'openapi.json'), (await tracker.app.inject('/openapi.json')).body);
    if (packages !== undefined) symlinkSync(packages, join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const user = [url, tracker.token('ada')];
    const program =
      (name: string, ...args: string[]) =>
      (t: Test) =>
        run(t, folder, `node_modules/.bin/${name}`, args);
    const jar = skipJava === false ? await fetchOpenapiGenerator(t) : '';
    const openapiGenerator = (t: Test, language: string, ...options: string[]) =>
      run(t, folder, 'java', ['-jar', jar, 'generate', '-i', 'openapi.json', '-g', language, ...options]);

    /** Checks the types of a program and of the client that it uses, and runs both. */
    const useTypescript = async (t: Test, name: string): Promise<void> => {
      copyFileSync(ownFile(`${name}.ts`), join(folder, `${name}.ts`));
      const options =
        '--target es2024 --module preserve --moduleResolution bundler --skipLibCheck --strict --noEmit --allowImportingTsExtensions';
      const types = ['--typeRoots', TYPES, '--types', 'node', '--lib', 'esnext,dom,dom.iterable'];
      const { output } = runTypeChecker(folder, [...options.split(' '), ...types, `${name}.ts`]);
      t.equal(output, '', 'the types hold');
      await program('esbuild', `${name}.ts`, '--bundle', '--platform=node', '--format=esm', `--outfile=${name}.js`)(t);
      await run(t, folder, process.execPath, [`${name}.js`, ...user]);
    };

    await t.test('openapi-fetch', { skip: skipTypescript }, async (t) => {
      await program('openapi-typescript', 'openapi.json', '-o', 'openapi.d.ts')(t);
      await useTypescript(t, 'use-openapi-fetch');
    });
    await t.test('Hey API', { skip: skipTypescript }, async (t) => {
      const plugins = ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'];
      await program('openapi-ts', '-i', 'openapi.json', '-o', 'hey', '-p', ...plugins)(t);
      await useTypescript(t, 'use-hey-api');
    });
    await t.test('Orval', { skip: skipTypescript }, async (t) => {
      const output = { target: 'orval.ts', client: 'fetch', baseUrl: url };
      const config = { tracker: { input: 'openapi.json', output } };
      writeFileSync(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(config)};`);
      await program('orval', '--config', 'orval.config.mjs')(t);
      await useTypescript(t, 'use-orval');
    });
    await t.test('OpenAPI Generator: TypeScript', { skip: skipTypescript || skipJava }, async (t) => {
      await openapiGenerator(t, 'typescript-fetch', '-o', 'typescript-fetch');
      await useTypescript(t, 'use-typescript-fetch');
    });
    await t.test('OpenAPI Generator: Python', { skip: skipPython }, async (t) => {
      await openapiGenerator(t, 'python', '-o', 'python', '--package-name', 'tracker_client');
      await run(t, folder, 'python3', ['-m', 'venv', 'venv']);
      await run(t, folder, 'venv/bin/pip', ['install', '--quiet', './python']);
      await run(t, folder, 'venv/bin/python', [ownFile('use_tracker.py'), ...user]);
    });
    await t.test('OpenAPI Generator: Go', { skip: skipGo }, async (t) => {
      const options = ['--package-name', 'client', '--additional-properties', 'withGoMod=false'];
      await openapiGenerator(
        t,
        'go',
        '-o',
        'go/client',
        '--global-property',
        'apiTests=false,modelTests=false',
        ...options,
      );
      mkdirSync(join(folder, 'go'), { recursive: true });
      writeFileSync(join(folder, 'go/go.mod'), 'module tracker\n\ngo 1.23\n');
      copyFileSync(ownFile('use_tracker.go'), join(folder, 'go/main.go'));
      await run(t, join(folder, 'go'), go!, ['vet', '.', './client']);
      await run(t, join(folder, 'go'), go!, ['run', '.', ...user]);
    });
  },
  ['sqlite'],
);

function ownFile(name: string): string {
  return fileURLToPath(new URL(`programs/${name}`, import.meta.url));
}
