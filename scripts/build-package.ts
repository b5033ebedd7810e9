/**
 * `node ../../scripts/build-package.ts` in the folder of a package: compiles its sources into `dist`, as they are published.
 *
 * Docstrings are for editors, which read the declarations, so the JavaScript has no comments. Neither has it source maps: each module is one
 * readable file under its name, so a stack trace names the module, the line in it and the function. Sources are not published.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

const { publishConfig } = JSON.parse(readFileSync('package.json', 'utf8')) as { publishConfig: { exports?: object } };

rmSync('dist', { recursive: true, force: true });
// A program alone has no declarations.
if (publishConfig.exports !== undefined) compile('--declaration', '--emitDeclarationOnly');
compile('--removeComments');

function compile(...flags: readonly string[]): void {
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', ...flags], { stdio: 'inherit' });
}
