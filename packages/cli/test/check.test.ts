import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { auth, LogEmailSender } from '@viewset/auth';
import {
  AllowAny,
  inJson,
  IPRateLimit,
  IsAuthenticated,
  ModelViewSet,
  PageNumberPagination,
  PathRateLimit,
  type QuerySet,
  type RateLimitRule,
  readShape,
  Router,
  UserRateLimit,
  viewset,
  writeShape,
} from '@viewset/core';
import fastify from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { Account, Role } from '../../auth/test/support/entities.ts';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { REPOSITORY } from '../../../scripts/repository.ts';
import { type Finding, prepareCheck } from '../src/index.ts';

const BookSchema = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(200).index(),
    pages: p.integer(),
    isbn: p.string().length(13).unique(),
    shelf: p.string().length(20),
    row: p.integer(),
    note: p.string().length(20).nullable(),
    is_lent: p.boolean().default(false),
    data: p.json().nullable(),
    owner: () => p.manyToOne(Account).nullable().index(),
  },
  indexes: [{ properties: ['shelf', 'row'] }],
});
class Book extends BookSchema.class {}
BookSchema.setClass(Book);

const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title', 'pages', 'isbn', 'shelf', 'row']);
const entities = [Role, Account, Book];
const secret = 'a secret of thirty-two bytes for tests';

interface Setting {
  readonly throttles?: readonly RateLimitRule[];
  readonly withAuth?: boolean;
}

/** Returns what the check finds of an application with one view. */
async function check(
  orm: MikroORM,
  View: Parameters<Router['register']>[1],
  { throttles = [], withAuth = false }: Setting = {},
): Promise<readonly Finding[]> {
  const app = fastify();
  const find = prepareCheck(app);
  await app.register(viewset, { orm, throttles });
  const mailer = new LogEmailSender(app.log);
  if (withAuth) await app.register(auth, { account: Account, secret, urlPrefix: '/api/auth', mailer });
  const router = new Router({ prefix: 'api' });
  router.register('books', View);
  await app.register(router.plugin);
  try {
    await app.ready();
    return await find();
  } finally {
    await app.close();
  }
}

const codes = (findings: readonly Finding[]): string[] => findings.map(({ code }) => code);

forEachDatabase(t, { entities }, async (t, orm, database) => {
  await t.test('a view with nothing to find', async (t) => {
    class BookViewSet extends ModelViewSet(Book, {
      read,
      write,
      permissionClasses: [IsAuthenticated],
      searchFields: ['title', 'note'],
      filterFields: {
        isbn: 'isbn',
        shelf: 'shelf',
        lent: 'is_lent',
        owner: 'owner',
        email: 'owner__email',
        has: 'note__contains',
      },
      orderingFields: { title: 'title' },
      ordering: ['-title', 'pages'],
    }) {}
    t.strictSame(await check(orm, BookViewSet), []);
    t.strictSame(await check(orm, BookViewSet, { withAuth: true, throttles: [new IPRateLimit(100, 60)] }), []);
  });

  await t.test('fields that lists are filtered or ordered by, without an index', async (t) => {
    class BookViewSet extends ModelViewSet(Book, {
      read,
      filterFields: { min_pages: 'pages__gte', row: 'row', who: 'owner__name' },
      orderingFields: { pages: 'pages', title: 'title' },
      ordering: ['note'],
    }) {}
    const findings = await check(orm, BookViewSet);
    t.strictSame(findings, [
      {
        code: 'field-without-index',
        message:
          'Book.pages has no index: BookViewSet filters by it (min_pages), BookViewSet orders by it (sort=pages)',
        change: 'pages: ….index()',
        declaredBy: { className: 'Book', word: 'pages' },
      },
      {
        code: 'field-without-index',
        message: 'Book.row has no index: BookViewSet filters by it (row)',
        change: 'row: ….index()',
        declaredBy: { className: 'Book', word: 'row' },
      },
      {
        code: 'field-without-index',
        message: 'Account.name has no index: BookViewSet filters by it (who)',
        change: 'name: ….index()',
        declaredBy: { className: 'Account', word: 'name' },
      },
      {
        code: 'field-without-index',
        message: 'Book.note has no index: BookViewSet orders by it (ordering)',
        change: 'note: ….index()',
        declaredBy: { className: 'Book', word: 'note' },
      },
    ]);
  });

  await t.test('values in JSON have no index', async (t) => {
    class BookViewSet extends ModelViewSet(Book, {
      read,
      filterFields: {
        color: inJson('data', ['color'], Type.String()),
        min_width: [inJson('data', ['size', 'width'], Type.Number()), 'gte'],
      },
      orderingFields: { width: inJson('data', ['size', 'width'], Type.Number()) },
      jsonLogicFields: [inJson('data', ['maker'], Type.String())],
    }) {}
    t.strictSame(await check(orm, BookViewSet), [
      {
        code: 'field-without-index',
        message: 'Book.data.color is in JSON, where it has no index: BookViewSet filters by it (color)',
        change: 'add a column with the value and an index, and use it instead',
        declaredBy: { className: 'Book', word: 'data' },
      },
      {
        code: 'field-without-index',
        message:
          'Book.data.size.width is in JSON, where it has no index: BookViewSet filters by it (min_width), BookViewSet orders by it (sort=width)',
        change: 'add a column with the value and an index, and use it instead',
        declaredBy: { className: 'Book', word: 'data' },
      },
    ]);
  });

  await t.test('a view with several lists, in two places: each finding is there once', async (t) => {
    class BookViewSet extends ModelViewSet(Book, {
      read,
      filterFields: { min_pages: 'pages__gte', max_pages: 'pages__lte' },
      exports: ['csv'],
      maxPageSize: 5000,
    }) {}
    const findings = await check(orm, BookViewSet);
    t.match(
      findings.map(({ message }) => message),
      [
        'BookViewSet: a page of GET /api/books may have 5000 records',
        'Book.pages has no index: BookViewSet filters by it (min_pages), BookViewSet filters by it (max_pages)',
      ],
    );
    t.equal(findings.length, 2);
  });

  await t.test('writes that are open without an explicit declaration', async (t) => {
    class OpenViewSet extends ModelViewSet(Book, { read, write, operations: ['list', 'create', 'destroy'] }) {}
    t.match(await check(orm, OpenViewSet), [
      { code: 'open-write', message: 'OpenViewSet: anybody may send POST /api/books, DELETE /api/books/:pk' },
    ]);
    t.strictSame(codes(await check(orm, OpenViewSet, { withAuth: true, throttles: [new IPRateLimit(9, 9)] })), []);
    class MeantViewSet extends ModelViewSet(Book, { read, write, permissionClasses: [AllowAny] }) {}
    t.strictSame(await check(orm, MeantViewSet), []);
    class ReadOnlyViewSet extends ModelViewSet(Book, { read }) {}
    t.strictSame(await check(orm, ReadOnlyViewSet), []);
  });

  await t.test('a login that no rule counts', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read }) {}
    const find = async (...throttles: readonly RateLimitRule[]) =>
      check(orm, BookViewSet, { withAuth: true, throttles });
    t.match(await find(), [
      {
        code: 'login-without-throttle',
        change: "throttles: [new PathRateLimit(10, 60, { path: 'POST /api/auth/login' })],",
      },
    ]);
    t.strictSame(codes(await find(new PathRateLimit(9, 9, { path: '/api/books' }))), ['login-without-throttle']);
    t.strictSame(codes(await find(new UserRateLimit(9, 9))), ['login-without-throttle'], 'nobody is logged in yet');
    t.strictSame(await find(new PathRateLimit(9, 9, { path: '/api/auth/*' })), []);
  });

  await t.test('hidden fields that a client can guess', async (t) => {
    class AccountViewSet extends ModelViewSet(Account, {
      read: readShape(Account, ['id']),
      searchFields: ['^password'],
      filterFields: { has: 'password__startswith' },
    }) {}
    t.match(await check(orm, AccountViewSet), [
      { code: 'guessable-field', message: 'AccountViewSet: "has" of filterFields lets clients guess Account.password' },
      { code: 'guessable-field', change: 'remove "^password" from searchFields' },
    ]);
  });

  await t.test('lists without an end', async (t) => {
    class UnpagedViewSet extends ModelViewSet(Book, { read, pagination: null }) {}
    t.match(await check(orm, UnpagedViewSet), [{ code: 'unbounded-list', change: 'remove "pagination: null"' }]);
    class LargeViewSet extends ModelViewSet(Book, { read, maxPageSize: 5000 }) {}
    t.match(await check(orm, LargeViewSet), [
      { code: 'unbounded-list', message: 'LargeViewSet: a page of GET /api/books may have 5000 records' },
    ]);
    class CustomPages extends PageNumberPagination {
      override readonly maxPageSize = 100_000;
    }
    class CustomViewSet extends ModelViewSet(Book, { read, pagination: CustomPages }) {}
    t.match(await check(orm, CustomViewSet), [{ code: 'unbounded-list', change: 'maxPageSize: 1000,' }]);
  });

  await t.test(
    'tables of a full-text search are not reported as differences, and its fields count as list filters',
    async (t) => {
      const search = {
        forView: () => ({
          fields: ['owner__password'],
          keeps: ['book_words', 'words'],
          describe: () => 'Words',
          search: <E extends object>(queryset: QuerySet<E>) => queryset,
        }),
      };
      class BookViewSet extends ModelViewSet(Book, { read, searchFields: search }) {}
      if (database === 'postgresql') {
        const connection = orm.em.getConnection() as unknown as { execute(sql: string): Promise<unknown> };
        await connection.execute('alter table "book" add column "words" tsvector');
        await connection.execute('create index "book_words" on "book" using gin ("words")');
      }
      t.match(await check(orm, BookViewSet), [
        { code: 'guessable-field', message: /"owner__password" of searchFields/ },
      ]);
      if (database !== 'postgresql') return;
      class OtherViewSet extends ModelViewSet(Book, { read }) {}
      t.strictSame(
        codes(await check(orm, OtherViewSet)),
        ['table-differs', 'table-differs'],
        'the column and its index',
      );
      const connection = orm.em.getConnection() as unknown as { execute(sql: string): Promise<unknown> };
      await connection.execute('alter table "book" drop column "words"');
    },
  );

  await t.test('tables that differ, and tables that are missing', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read }) {}
    if (database !== 'mongodb') {
      const connection = orm.em.getConnection() as unknown as { execute(sql: string): Promise<unknown> };
      await connection.execute('alter table "book" drop column "note"');
      const findings = await check(orm, BookViewSet);
      t.match(findings, [{ code: 'table-differs', declaredBy: { className: 'Book' } }]);
      t.match(findings[0]!.message, /^Book differs from its table: alter table .book. add (column )?.note./);
    }
    if (database === 'postgresql') {
      await orm.schema.update();
      await orm.schema.execute('alter table "book" add constraint "one_row" exclude using btree ("row" with =)');
      const [finding, ...others] = await check(orm, BookViewSet);
      t.strictSame(others, []);
      t.equal(finding?.message, 'Book differs from its table: alter table "book" drop constraint "one_row"');
      t.match(
        finding?.change,
        /^declare it in "indexes" or "checks" of the entity, or orm\.schema\.update\(\) drops it$/,
      );
    }
    await orm.schema.drop();
    const missing = await check(orm, BookViewSet);
    t.strictSame([...new Set(codes(missing))], ['table-differs']);
    t.match(missing.map(({ message }) => message).join('\n'), /^Book has no (table|collection) book/m);
  });
});

const program = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
const maker = fileURLToPath(new URL('../../create/src/bin.ts', import.meta.url));
/** Within the package, so that the application finds what it imports. */
const workspace = fileURLToPath(new URL('.snippets/check/', import.meta.url));

t.test('the examples have nothing to find, and their servers are found in src', async (t) => {
  for (const example of ['shop', 'tracker', 'conduit']) {
    const cwd = fileURLToPath(new URL(`../../../examples/${example}`, import.meta.url));
    const { stdout, status } = spawnSync(process.execPath, [program, 'check'], { cwd, encoding: 'utf8' });
    t.strictSame({ stdout, status }, { stdout: 'Nothing was found\n', status: 0 }, example);
  }
});

t.test('a folder without a server is a mistake that names the files', async (t) => {
  const run = spawnSync(process.execPath, [program, 'check'], { cwd: t.testdir(), encoding: 'utf8' });
  t.equal(run.status, 1);
  t.match(
    run.stderr,
    'There is no server.ts, main.ts or index.ts here or in src: name the file that starts the server',
  );
  const named = spawnSync(process.execPath, [program, 'routes', 'api.ts'], { cwd: t.testdir(), encoding: 'utf8' });
  t.match(named.stderr, 'There is no api.ts here: name the file that starts the server');
});

t.test('the command names the lines of an application of npm create viewset', async (t) => {
  rmSync(workspace, { recursive: true, force: true });
  mkdirSync(workspace, { recursive: true });
  t.teardown(() => rmSync(workspace, { recursive: true, force: true }));
  execFileSync(process.execPath, [maker, 'library', '--yes', '--no-install'], { cwd: workspace });
  const application = join(workspace, 'library');
  const run = () => spawnSync(process.execPath, [program, 'check'], { cwd: application, encoding: 'utf8' });
  t.match(run(), { status: 0, stdout: 'Nothing was found\n', stderr: '' });

  const change = (file: string, from: string | RegExp, to: string): void => {
    const path = join(application, file);
    writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));
  };
  change('entities.ts', 'p.integer().index()', 'p.integer()');
  change('books.ts', "ordering: ['title'],", "ordering: ['title'],\n  pagination: null,");
  change('app.ts', /.*auth\/login'.*\n/, '');
  const { status, stdout } = run();
  t.equal(status, 1);
  t.match(stdout, /^app\.ts:13 {2}POST \/api\/auth\/login: one client may try/m);
  t.match(stdout, /^ {2}change: throttles: \[new PathRateLimit/m);
  t.match(stdout, /^books\.ts:12 {2}BookViewSet: GET \/api\/books sends all records at once/m);
  t.match(stdout, /^entities\.ts:\d+ {2}Book\.pages has no index/m);
  t.match(stdout, `  page:   ${REPOSITORY}/blob/main/docs/check.md#field-without-index\n`);
  t.match(stdout, /^Found: 3$/m);

  const dev = fileURLToPath(new URL('../src/dev.ts', import.meta.url));
  const server = spawn(process.execPath, ['--env-file=.env', '--import', dev, 'server.ts'], {
    cwd: application,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => server.kill());
  const warnings: string[] = [];
  for await (const line of createInterface({ input: server.stdout })) {
    const { level, msg } = JSON.parse(line) as { level: number; msg: string };
    if (level === 40) warnings.push(msg);
    if (warnings.length === 3) break;
  }
  t.match(warnings.join('\n'), /app\.ts:13 .*books\.ts:12 .*entities\.ts:\d+ /s, 'a start in development warns');
});
