import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const program = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
const maker = fileURLToPath(new URL('../../create/src/bin.ts', import.meta.url));
const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
/** Within the package, so that the applications find what they import. */
const workspace = fileURLToPath(new URL('.snippets/add/', import.meta.url));
rmSync(workspace, { recursive: true, force: true });
mkdirSync(workspace, { recursive: true });
t.teardown(() => rmSync(workspace, { recursive: true, force: true }));

function make(name: string, ...options: readonly string[]): string {
  execFileSync(process.execPath, [maker, name, '--yes', '--no-install', ...options], { cwd: workspace });
  return join(workspace, name);
}

function viewset(application: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: application,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

/** Returns what the compiler and the tests have to say; empty if nothing is wrong. */
function faults(application: string): string {
  const types = spawnSync(process.execPath, [compiler], { cwd: application, encoding: 'utf8' });
  const tests = spawnSync(process.execPath, ['--test'], { cwd: application, encoding: 'utf8' });
  return `${types.stdout}${tests.status === 0 ? '' : tests.stdout}`;
}

const read = (application: string, file: string): string => readFileSync(join(application, file), 'utf8');

for (const accounts of ['--accounts', '--no-accounts']) {
  t.test(`resources with every type of field, ${accounts}`, async (t) => {
    const application = make(`every-type${accounts}`, accounts);
    t.match(viewset(application, 'add', 'resource', 'Author', 'name:string:unique'), { status: 0 });
    const fields = [
      'title:string',
      'body:text?',
      'stars:integer',
      'price:decimal',
      'isPublic:boolean',
      'day:date?',
      'read_at:datetime',
      'code:uuid:unique',
      'author:ref',
      'editor:ref?:Author',
      'book:ref',
    ];
    const added = viewset(application, 'add', 'resource', 'BookReview', ...fields);
    t.match(added, { status: 0, stderr: '' });
    t.match(added.stdout, /wrote   book-reviews\.ts\nwrote   book-reviews\.test\.ts\nchanged entities\.ts/);
    t.match(read(application, 'app.ts'), "router.register('book-reviews', BookReviewViewSet);");
    t.equal(faults(application), '');
  });
}

t.test('the generated files', async (t) => {
  const application = make('files');
  viewset(application, 'add', 'resource', 'Person', 'name:string', 'boss:ref?:Account', '--plural', 'people');
  t.equal(
    read(application, 'people.ts'),
    `import { ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Person } from './entities.ts';

export class PersonViewSet extends ModelViewSet(Person, {
  read: readShape(Person, ['id', 'name', 'boss']),
  write: writeShape(Person, ['name', 'boss']),
  searchFields: ['name'],
  filterFields: { boss: 'boss' },
  orderingFields: { name: 'name' },
}) {}
`,
  );
  t.match(
    read(application, 'entities.ts'),
    `const PersonSchema = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(200).index(),
    boss: () => p.manyToOne(Account).nullable().index(),
  },
});
export class Person extends PersonSchema.class {}
PersonSchema.setClass(Person);

export const entities = [
  Book,
  Account,
  Role,
  Person,
];`,
  );
  t.equal(faults(application), '');
});

t.test('mistakes are reported, and nothing is written', async (t) => {
  const application = make('mistakes');
  const before = join(workspace, 'before');
  cpSync(application, before, { recursive: true });
  writeFileSync(join(application, 'tags.ts'), '// mine');
  for (const [args, message] of [
    [['Tag', 'name:string'], 'tags.ts exists already; nothing was written'],
    [['Book', 'title:string'], 'entities.ts has Book already'],
    [['Author', 'name:strin'], '"name:strin": the type must be one of string, text, integer, decimal, boolean'],
    [['Author', 'name'], 'but got ""'],
    [['Author', 'Name:string'], 'the name of a field begins with a lower case letter'],
    [['Author', 'name:string', 'name:text'], 'Author has two fields with the name name'],
    [['Author', 'name:string:index'], 'only "unique" may follow the type, but got "index"'],
    [['Author', 'id:integer'], 'each resource has an id already'],
    [['Author', 'agent:ref'], 'entities.ts has no Agent; add it first: viewset add resource Agent name:string'],
    [['Author', 'friend:ref:Author'], 'a reference of Author to itself has to be written by hand'],
    [['Author'], 'Name the fields of Author, as in title:string'],
    [['author', 'name:string'], '"author" must be a name such as Book or BookReview'],
    [['Novel', 'name:string', '--plural', 'books'], 'app.ts has the route books already'],
    [[], 'Name the resource'],
  ] as const) {
    const { status, stderr } = viewset(application, 'add', 'resource', ...args);
    t.equal(status, 1, message);
    t.match(stderr, message);
    t.notMatch(stderr, /\n\s+at /, 'no stack');
  }
  for (const file of ['entities.ts', 'app.ts']) t.equal(read(application, file), read(before, file), file);
  t.equal(read(application, 'tags.ts'), '// mine');
  t.match(viewset(workspace, 'add', 'resource', 'Author', 'name:string').stderr, 'There is no entities.ts here');
  t.match(viewset(workspace, 'add', 'view').stderr, 'There is no command "add view"');
});

t.test('the routes are listed without a server that listens', async (t) => {
  const application = make('routes');
  const { status, stdout } = viewset(application, 'routes');
  t.equal(status, 0);
  t.match(stdout, /^ {2}POST {4}\/api\/books +logged-in users$/m);
  t.match(stdout, /^ {2}GET {5}\/api\/books\/:pk +anybody$/m);
  t.match(viewset(application, 'routes', 'main.ts'), { status: 1, stderr: /There is no main\.ts here/ });
  writeFileSync(join(application, 'nothing.ts'), 'console.log(1);');
  t.match(viewset(application, 'routes', 'nothing.ts'), { status: 1, stderr: /nothing\.ts ended without listening/ });
});
