#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { addResource } from './add/add-resource.ts';
import { TYPE_NAMES } from './add/field-declaration.ts';
import { Mistake } from './mistake.ts';

/** The names that a server usually has, in this folder or in `src`; the first that exists is taken. */
const SERVERS = ['server', 'main', 'index'].flatMap((name) =>
  ['.', 'src'].flatMap((folder) => ['ts', 'mts', 'js', 'mjs'].map((ending) => join(folder, `${name}.${ending}`))),
);

const HELP = `Usage:
  viewset add resource Book title:string 'pages:integer?' author:ref    add a resource to the application in this folder
  viewset routes [src/server.ts]                                      list the routes of the application
  viewset check [src/server.ts]                                       find what is likely to hurt later

Without a file, routes and check start the first server.ts, main.ts or index.ts, here or in src.

The types of fields are ${TYPE_NAMES.join(', ')}.
A field may be empty with "?", or unique with ":unique". A reference may name its entity: editor:ref:Author.
--plural people names the path of a resource.
`;

try {
  run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Mistake)) throw error;
  console.error(styleText('red', error.message));
  process.exitCode = 1;
}

function run(args: readonly string[]): void {
  const { values, positionals } = parse(args);
  const [command, ...rest] = positionals;
  if (values.help === true || command === undefined) return console.log(HELP);
  if (command === 'routes' || command === 'check') return report(command, rest);
  const [what, entity, ...fields] = rest;
  if (command !== 'add' || what !== 'resource') {
    throw new Mistake(`There is no command "${[command, what].filter(Boolean).join(' ')}"\n\n${HELP}`);
  }
  if (entity === undefined) throw new Mistake(`Name the resource, as in "viewset add resource Book title:string"`);
  console.log(addResource(process.cwd(), { entity, fields, plural: values.plural }).join('\n'));
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { plural: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
  } catch (error) {
    throw new Mistake((error as Error).message, { cause: error });
  }
}

/** Runs the server with the report module loaded before it. */
function report(command: string, [named]: readonly string[]): void {
  const server = named ?? SERVERS.find((file) => existsSync(file));
  if (server === undefined) {
    throw new Mistake(
      'There is no server.ts, main.ts or index.ts here or in src: name the file that starts the server',
    );
  }
  if (!existsSync(server)) throw new Mistake(`There is no ${server} here: name the file that starts the server`);
  const loaded = import.meta.resolve(import.meta.url.endsWith('.ts') ? './report.ts' : './report.js');
  const { status } = spawnSync(process.execPath, ['--env-file-if-exists=.env', '--import', loaded, server], {
    stdio: 'inherit',
    env: { ...process.env, VIEWSET_REPORT: command },
  });
  process.exitCode = status ?? 1;
}
