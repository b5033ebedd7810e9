import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { npmProgram } from './foreign-programs.ts';
import { runTypeChecker } from './type-checker.ts';

const redocly = npmProgram('@redocly/cli@2.77.0', 'redocly');
const spectral = npmProgram('@stoplight/spectral-cli@6.16.3', 'spectral');
const typescript = npmProgram('openapi-typescript@7.13.0', 'openapi-typescript');

/** The reason for which a test of these programs is skipped; false if they are there, or have to be. */
export const skipLinters: string | false =
  [redocly, spectral, typescript].includes(undefined) &&
  process.env['CI'] !== 'true' &&
  'Redocly, Spectral and openapi-typescript are NOT TESTED: the registry does not answer';

/**
 * Fails unless Redocly's recommended rules and Spectral's `oas` rules find nothing in a document, no warning either, and the types
 * that openapi-typescript makes of it compile.
 */
export function lintDocument(t: Test, document: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'viewset-linters-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'openapi.json'), document);
  writeFileSync(join(folder, 'rules.yaml'), 'extends: ["spectral:oas"]\n');
  const run = (program: string | undefined, args: readonly string[]) => {
    if (program === undefined) throw new Error('A linter could not be installed');
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const { stdout, stderr, status } = spawnSync(program, args, { cwd: folder, encoding: 'utf8', env });
    return { status, output: stdout + stderr };
  };
  const report = run(redocly, ['lint', '--extends=recommended', '--format=json', 'openapi.json']).output;
  const { totals } = JSON.parse(report.slice(report.indexOf('{'), report.lastIndexOf('}') + 1)) as { totals: object };
  t.match(totals, { errors: 0, warnings: 0 }, `Redocly: ${report.slice(0, 4000)}`);
  const linted = run(spectral, ['lint', '-r', 'rules.yaml', '--fail-severity=hint', 'openapi.json']);
  t.equal(linted.status, 0, `Spectral: ${linted.output.slice(0, 4000)}`);
  const made = run(typescript, ['openapi.json', '-o', 'openapi.d.ts']);
  t.equal(made.status, 0, `openapi-typescript: ${made.output.slice(0, 4000)}`);
  t.equal(runTypeChecker(folder, ['--noEmit', '--strict', '--skipLibCheck', 'false', 'openapi.d.ts']).output, '');
}
