import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Mistake } from '../mistake.ts';
import { type FieldDeclaration, readField, TYPE_NAMES } from './field-declaration.ts';
import { entityCode, testCode, viewSetCode } from './resource-code.ts';
import { nameResource, type ResourceNames } from './resource-names.ts';

/** A resource as declared on the command line. */
export interface ResourceDeclaration {
  readonly entity: string;
  /** Fields such as `title:string`. */
  readonly fields: readonly string[];
  /** The path of its routes; undefined: the plural of the entity's name. */
  readonly plural: string | undefined;
}

/**
 * Adds a resource to the application in a folder: its entity in `entities.ts`, its route in `app.ts`, and files for its
 * view set and test. Checks everything before it writes the first file.
 *
 * @returns one line for each file that changed
 * @throws Mistake for a wrong declaration, for names and files that already exist, and for an application with another
 * layout
 */
export function addResource(folder: string, { entity, fields: texts, plural }: ResourceDeclaration): string[] {
  const names = nameResource(entity, plural);
  if (texts.length === 0) {
    throw new Mistake(`Name the fields of ${entity}, as in title:string; the types are ${TYPE_NAMES.join(', ')}`);
  }
  const fields = texts.map(readField);
  const twice = fields.find(({ name }, index) => fields.findIndex((other) => other.name === name) < index);
  if (twice !== undefined) throw new Mistake(`${entity} has two fields with the name ${twice.name}`);
  const entities = withEntity(read(folder, 'entities.ts'), names, fields);
  const app = withRoute(read(folder, 'app.ts'), names);
  const made = [[`${names.path}.ts`, viewSetCode(names, fields)]] as [file: string, text: string][];
  // An application without tests gets no test.
  if (existsSync(join(folder, 'database.ts')) && hasTests(folder)) {
    made.push([`${names.path}.test.ts`, testCode(names, fields, existsSync(join(folder, 'accounts.ts')))]);
  }
  const taken = made.find(([file]) => existsSync(join(folder, file)));
  if (taken !== undefined) throw new Mistake(`${taken[0]} exists already; nothing was written`);
  for (const [file, text] of [...made, ['entities.ts', entities], ['app.ts', app]] as const) {
    writeFileSync(join(folder, file), text);
  }
  return [
    ...made.map(([file]) => `wrote   ${file}`),
    `changed entities.ts: class ${names.entity}`,
    `changed app.ts: /${names.path}`,
  ];
}

function read(folder: string, file: string): string {
  const path = join(folder, file);
  if (existsSync(path)) return readFileSync(path, 'utf8');
  throw new Mistake(`There is no ${file} here; run this in an application of "npm create viewset"`);
}

/** Tells if the application has the test kit. */
function hasTests(folder: string): boolean {
  return readFileSync(join(folder, 'package.json'), 'utf8').includes('"@viewset/testing"');
}

const LIST = /(?:\/\*\*(?:(?!\*\/)[^])*\*\/\n)?export const entities = \[([^\]]*)\]/;

function withEntity(text: string, names: ResourceNames, fields: readonly FieldDeclaration[]): string {
  const { entity } = names;
  if (has(text, entity)) throw new Mistake(`entities.ts has ${entity} already`);
  for (const { name, target } of fields) {
    if (target === entity) throw new Mistake(`${name}: a reference of ${entity} to itself has to be written by hand`);
    if (target !== undefined && !has(text, target)) {
      throw new Mistake(
        `${name}: entities.ts has no ${target}; add it first: viewset add resource ${target} name:string`,
      );
    }
  }
  const found = LIST.exec(text);
  if (found === null) throw new Mistake('entities.ts has no "export const entities = [ … ]"');
  const [all, members = ''] = found;
  const isOneLine = !members.includes('\n');
  const listed = isOneLine ? `${members}, ${entity}` : `${members}  ${entity},\n`;
  const list = all.replace(`[${members}]`, () => `[${listed}]`);
  return text.replace(all, () => `${entityCode(names, fields)}\n${list}`);
}

function has(text: string, name: string): boolean {
  return new RegExp(`\\b${name}\\b`).test(text);
}

const LAST_ROUTE = /^([ \t]*\w+)\.register\('[^']+', \w+\);\n(?![^]*^[ \t]*\w+\.register\('[^']+', \w+\);\n)/m;
const LAST_IMPORT = /^import [^;]+;\n(?![^]*^import )/m;

function withRoute(text: string, { entity, path }: ResourceNames): string {
  if (text.includes(`.register('${path}',`)) throw new Mistake(`app.ts has the route ${path} already`);
  const route = LAST_ROUTE.exec(text);
  const lastImport = LAST_IMPORT.exec(text);
  if (route === null || lastImport === null) {
    throw new Mistake(
      "app.ts has no line like router.register('books', BookViewSet); after which the new one could stand",
    );
  }
  const [line, router] = route;
  return text
    .replace(line, () => `${line}${router}.register('${path}', ${entity}ViewSet);\n`)
    .replace(lastImport[0], () => `${lastImport[0]}import { ${entity}ViewSet } from './${path}.ts';\n`);
}
