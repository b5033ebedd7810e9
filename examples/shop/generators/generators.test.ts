/**
 * Generates clients of the shop's document with OpenAPI Generator, in Java and Python, compiles them, and uses them against
 * the shop. Needs Java, Maven and Python; Maven and pip bring the rest.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { findsProgram, inCache } from '../../../scripts/foreign-programs.ts';
import { startShop } from '../test/support/shop.ts';

const GENERATOR_VERSION = '7.25.0';
const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';
const EXEC_PLUGIN = 'org.codehaus.mojo:exec-maven-plugin:3.5.0';

const missing = [
  ['java', '-version'] as const,
  ['mvn', '--version'] as const,
  ['python3', '--version'] as const,
].filter(([program, flag]) => !findsProgram(program, flag));
const skip = missing.length > 0 && `${missing.map(([program]) => program).join(' and ')} not installed: NOT TESTED`;

t.test('generated clients compile, and work against the shop', { skip }, async (t) => {
  t.setTimeout(900_000);
  const shop = await startShop(t);
  const folder = mkdtempSync(join(tmpdir(), 'viewset-generators-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${shop.url}/openapi.json`)).text());
  const jar = await fetchGenerator(t);
  const generate = (language: string, ...options: string[]) =>
    run(t, folder, 'java', ['-jar', jar, 'generate', '-i', 'openapi.json', '-g', language, '-o', language, ...options]);

  await t.test('Java', async (t) => {
    const packages = 'invokerPackage=shop,apiPackage=shop.api,modelPackage=shop.model';
    await generate('java', '--additional-properties', packages);
    copyFileSync(ownFile('UseShop.java'), join(folder, 'java/src/main/java/UseShop.java'));
    const use = [`${EXEC_PLUGIN}:java`, '-Dexec.mainClass=UseShop', `-Dexec.args=${shop.url}`];
    await run(t, join(folder, 'java'), 'mvn', ['-q', '-B', 'compile', ...use]);
  });

  await t.test('Python', async (t) => {
    await generate('python', '--package-name', 'shop_client');
    await run(t, folder, 'python3', ['-m', 'venv', 'venv']);
    await run(t, folder, 'venv/bin/pip', ['install', '--quiet', './python']);
    await run(t, folder, 'venv/bin/python', [ownFile('use_shop.py'), shop.url]);
  });
});

/** Lets Maven bring the generator's program, once a machine. */
async function fetchGenerator(t: Test): Promise<string> {
  const folder = inCache('openapi-generator');
  const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${GENERATOR_VERSION}`;
  await run(t, tmpdir(), 'mvn', ['-q', '-B', `${DEPENDENCY_PLUGIN}:copy`, artifact, `-DoutputDirectory=${folder}`]);
  return join(folder, `openapi-generator-cli-${GENERATOR_VERSION}.jar`);
}

function ownFile(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** Runs a program; its complaints are shown if it fails. */
async function run(t: Test, cwd: string, program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) t.comment(output.slice(-4000));
  t.equal(code, 0, `${program} ${args.join(' ')}`.slice(0, 100));
}
