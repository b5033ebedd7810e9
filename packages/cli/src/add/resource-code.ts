import type { FieldDeclaration } from './field-declaration.ts';
import type { ResourceNames } from './resource-names.ts';

/** Writes the entity in the style of `entities.ts`. */
export function entityCode({ entity }: ResourceNames, fields: readonly FieldDeclaration[]): string {
  const columns = fields.map(({ name, column }) => `    ${name}: ${column},\n`).join('');
  return `const ${entity}Schema = defineEntity({
  name: '${entity}',
  properties: {
    id: p.integer().primary(),
${columns}  },
});
export class ${entity} extends ${entity}Schema.class {}
${entity}Schema.setClass(${entity});
`;
}

/** Writes the file of the view set. */
export function viewSetCode({ entity }: ResourceNames, fields: readonly FieldDeclaration[]): string {
  const names = fields.map(({ name }) => name);
  const searched = fields.filter(({ isSearched }) => isSearched).map(({ name }) => name);
  const references = fields.filter(({ target }) => target !== undefined).map(({ name }) => name);
  const ordered = fields.filter(({ isOrdered }) => isOrdered).map(({ name }) => name);
  const options = [
    `read: readShape(${entity}, ${list(['id', ...names])}),`,
    `write: writeShape(${entity}, ${list(names)}),`,
    ...(searched.length > 0 ? [`searchFields: ${list(searched)},`] : []),
    ...(references.length > 0 ? [`filterFields: ${sameNames(references)},`] : []),
    ...(ordered.length > 0 ? [`orderingFields: ${sameNames(ordered)},`] : []),
  ];
  return `import { ModelViewSet, readShape, writeShape } from '@viewset/core';
import { ${entity} } from './entities.ts';

export class ${entity}ViewSet extends ModelViewSet(${entity}, {
${options.map((option) => `  ${option}\n`).join('')}}) {}
`;
}

/** Writes the test, which creates, lists and deletes a record. */
export function testCode(
  { entity, one, path }: ResourceNames,
  fields: readonly FieldDeclaration[],
  hasAccounts: boolean,
): string {
  const references = fields.flatMap(({ name, target }) => (target === undefined ? [] : [{ name, target }]));
  const targets = references.map(({ target }) => target).filter((target) => target !== 'Account');
  const imported = [...new Set([...targets, 'entities'])].toSorted().join(', ');
  const importsAccount = hasAccounts || references.some(({ target }) => target === 'Account');
  const payload = fields.map(({ name, sample }) => `${name}: ${sample}`).join(', ');
  return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testApp } from '@viewset/testing';
${importsAccount ? "import { Account } from './accounts.ts';\n" : ''}import { createApp } from './app.ts';
import { database } from './database.ts';
import { ${imported} } from './entities.ts';

test('a ${entity} can be created, listed and deleted', async (t) => {
  const library = await testApp((orm) => createApp(orm, 'a secret of thirty-two bytes for tests'), { entities, database });
  t.after(() => library.close());
  const { app } = library;
  const url = '/api/${path}';
${hasAccounts ? '  const headers = library.headersOf(await library.factory(Account).create());\n' : ''}${references
    .map(({ name, target }) => `  const ${name} = await library.factory(${target}).create();\n`)
    .join('')}  const payload = { ${payload} };

  const created = await app.inject({ method: 'POST', url, payload${hasAccounts ? ', headers' : ''} });
  assert.equal(created.statusCode, 201);
  const ${one} = created.json<{ id: number }>();
  assert.deepEqual(${one}, { id: ${one}.id, ...payload });

  const listed = await app.inject({ method: 'GET', url${hasAccounts ? ', headers' : ''} });
  assert.deepEqual(listed.json<{ results: unknown }>().results, [${one}]);

  const deleted = await app.inject({ method: 'DELETE', url: \`\${url}/\${${one}.id}\`${hasAccounts ? ', headers' : ''} });
  assert.equal(deleted.statusCode, 204);
});
`;
}

function list(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(', ')}]`;
}

/** Writes an object literal that maps each name to itself. */
function sameNames(names: readonly string[]): string {
  return `{ ${names.map((name) => `${name}: '${name}'`).join(', ')} }`;
}
