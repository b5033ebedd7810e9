import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pythonProgram } from './foreign-programs.ts';

const { SCHEMATHESIS_EXAMPLES: examples = '10', SCHEMATHESIS_PHASES: phases, SCHEMATHESIS_SEED: seed } = process.env;
const program = pythonProgram('schemathesis==4.32.5');

/** The reason for which a test of Schemathesis is skipped; false if the program is there, or has to be. */
export const skipSchemathesis: string | false =
  program === undefined &&
  process.env['CI'] !== 'true' &&
  'Schemathesis is NOT TESTED: there is no Python, or PyPI does not answer';

/** The files next to a test with data that no schema of its document can express. */
export interface SchemathesisFiles {
  /** The settings, in TOML. */
  readonly config: string;
  /** The Python program whose hooks change requests before they are sent. */
  readonly hooks: string;
}

export interface SchemathesisOptions {
  /** The token of the logged-in user; absent without a login. */
  readonly token?: string;
  /** The environment variables of the hooks. */
  readonly variables?: Readonly<Record<string, string>>;
}

/**
 * Runs Schemathesis, with all its checks, against a server as its document describes it. Needs Python; pip brings the program.
 * `SCHEMATHESIS_EXAMPLES` says how many requests it makes up for each operation and phase, `SCHEMATHESIS_PHASES` which phases
 * there are (all), `SCHEMATHESIS_SEED` which requests (others each time).
 *
 * @returns the exit code; the program's report goes to the terminal
 */
export async function runSchemathesis(
  url: string,
  { config, hooks }: SchemathesisFiles,
  { token, variables = {} }: SchemathesisOptions = {},
): Promise<unknown> {
  if (program === undefined) throw new Error('Schemathesis could not be installed');
  // The program stores its results in the folder in which it runs.
  const folder = mkdtempSync(join(tmpdir(), 'viewset-schemathesis-'));
  const command = ['--config-file', config, 'run', `${url}/openapi.json`, '--checks', 'all', '-n', examples];
  const some = phases === undefined ? [] : ['--phases', phases];
  const same = seed === undefined ? [] : ['--seed', seed];
  const person = token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`];
  const child = spawn(program, [...command, ...some, ...same, '--continue-on-failure', '--no-color', ...person], {
    cwd: folder,
    env: {
      ...process.env,
      ...variables,
      SCHEMATHESIS_HOOKS: hooks,
      // The hooks that several applications have in common.
      PYTHONPATH: import.meta.dirname,
      PYTHONDONTWRITEBYTECODE: '1',
      // A log gets no picture of the progress, drawn again ten times a second.
      TERM: 'dumb',
    },
    stdio: ['ignore', 2, 2],
  });
  const [code] = (await once(child, 'exit')) as unknown[];
  rmSync(folder, { recursive: true, force: true });
  return code;
}
