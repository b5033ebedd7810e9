import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyEntity, EntityClass, EntitySchema, MikroORM, Options } from '@mikro-orm/core';
import type { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { recordQueries } from './expect-queries.ts';

/**
 * The databases that tests can run on.
 *
 * @example
 * for (const database of TEST_DATABASES) {
 *   const shop = await testApp(() => fastify(), { entities: [Product], database });
 *   await shop.close();
 * }
 */
export const TEST_DATABASES = ['sqlite', 'postgresql', 'mongodb'] as const;

/** A database that tests can run on. */
export type TestDatabase = (typeof TEST_DATABASES)[number];

/** The environment variables for the servers on which tests may create databases. */
const VARIABLES = { postgresql: 'TEST_POSTGRES_URL', mongodb: 'TEST_MONGODB_URL' } as const;

/** The parts of an ORM that the application chooses. */
export interface OrmOptions {
  readonly entities: readonly (EntityClass<AnyEntity> | EntitySchema)[];
  readonly orm: Partial<Options>;
  readonly schema: SchemaOption;
}

/** How the database gets its tables: from the entities, by migrations, or by a function. */
export type SchemaOption = 'entities' | 'migrations' | ((orm: MikroORM) => Promise<unknown>);

/** @throws Error for an unknown option, and if there are no migrations */
async function makeSchema(orm: MikroORM, schema: SchemaOption): Promise<void> {
  if (schema === 'entities') return orm.schema.create();
  if (typeof schema === 'function') return void (await schema(orm));
  if (schema !== 'migrations') {
    throw new Error(`testApp: "schema" must be entities, migrations or a function, but got ${String(schema)}`);
  }
  const pending = await orm.migrator.getPending();
  if (pending.length === 0) {
    throw new Error(
      'testApp: "schema" is migrations, but the ORM finds none: give orm: { extensions: [Migrator], migrations: { path: … } }',
    );
  }
  await orm.migrator.up();
}

/** An ORM on its own empty database. */
export interface OpenDatabase {
  readonly orm: MikroORM;
  /** Closes the ORM and drops the database. */
  drop(): Promise<void>;
}

/** An empty database that the application opens itself. */
export interface EmptyDatabase {
  /** `sqlite:` and a file path, or the URL of a database on the server. */
  readonly url: string;
  /** Removes the database. */
  readonly drop: () => Promise<void>;
}

const OPENERS: Readonly<Record<TestDatabase, (options: OrmOptions) => Promise<OpenDatabase>>> = {
  sqlite: openSqlite,
  postgresql: openPostgreSql,
  mongodb: openMongo,
};

/** Opens an empty database that has the entities' schema. */
export function openDatabase(database: TestDatabase, options: OrmOptions): Promise<OpenDatabase> {
  return entryOf(OPENERS, database, 'testApp')(options);
}

const CREATORS: Readonly<Record<TestDatabase, () => Promise<EmptyDatabase>>> = {
  sqlite: createFile,
  postgresql: createPostgreSql,
  mongodb: createMongo,
};

/**
 * Creates an empty database without tables, for an application that opens its database by URL: in its own process, or
 * to test its migrations. `testApp` does not need it.
 *
 * @example
 * const database = await emptyDatabase('postgresql');
 * process.env['DATABASE_URL'] = database.url;
 * // … start the program, and test it
 * await database.drop();
 */
export function emptyDatabase(database: TestDatabase): Promise<EmptyDatabase> {
  return entryOf(CREATORS, database, 'emptyDatabase')();
}

/**
 * Says why tests cannot run on a database: its server's variable is not set. False if they can. Under CI (`CI=true`) it
 * is always false, so that a test without its server fails there. Pass the result to a test's option `skip`.
 *
 * @example
 * const skip = missingServer('postgresql');   // false, or 'TEST_POSTGRES_URL is not set: nothing was tried on postgresql'
 */
export function missingServer(database: TestDatabase): string | false {
  if (database === 'sqlite' || process.env['CI'] === 'true') return false;
  return process.env[VARIABLES[database]]
    ? false
    : `${VARIABLES[database]} is not set: nothing was tried on ${database}`;
}

function entryOf<Entry>(table: Readonly<Record<TestDatabase, Entry>>, database: TestDatabase, caller: string): Entry {
  if (Object.hasOwn(table, database)) return table[database];
  throw new Error(`${caller}: "database" must be sqlite, postgresql or mongodb, but got ${database}`);
}

async function createFile(): Promise<EmptyDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'viewset-test-'));
  const drop = (): Promise<void> => rm(folder, { recursive: true, force: true });
  return { url: `sqlite:${join(folder, 'test.sqlite')}`, drop };
}

async function createPostgreSql(): Promise<EmptyDatabase> {
  const [server, name] = [serverUrl('postgresql'), freshName()];
  await onServer(server, (execute) => execute(`create database "${name}"`));
  return { url: urlOfDatabase(server, name), drop: () => dropPostgreSql(server, name) };
}

async function createMongo(): Promise<EmptyDatabase> {
  const url = urlOfDatabase(serverUrl('mongodb'), freshName());
  const drop = async (): Promise<void> => {
    const { MikroORM } = await import('@mikro-orm/mongodb');
    await dropMongo(await MikroORM.init({ clientUrl: url, entities: [], discovery: { warnWhenNoEntities: false } }));
  };
  return { url, drop };
}

async function openSqlite({ entities, orm: given, schema }: OrmOptions): Promise<OpenDatabase> {
  const { MikroORM } = await import('@mikro-orm/sqlite');
  const orm = await MikroORM.init({ ...given, dbName: ':memory:', entities: [...entities] } as object);
  const drop = (): Promise<void> => orm.close(true);
  await makeOrDrop(orm, schema, drop);
  return { orm, drop };
}

async function openMongo({ entities, orm: given, schema }: OrmOptions): Promise<OpenDatabase> {
  const [{ MikroORM }, { MongoExtension }] = await Promise.all([
    import('@mikro-orm/mongodb'),
    import('@viewset/mongodb'),
  ]);
  const clientUrl = urlOfDatabase(serverUrl('mongodb'), freshName());
  const extensions = [MongoExtension];
  const orm = await MikroORM.init({ extensions, ...given, clientUrl, entities: [...entities] } as object);
  const drop = (): Promise<void> => dropMongo(orm);
  await makeOrDrop(orm, schema, drop);
  return { orm, drop };
}

async function makeOrDrop(orm: MikroORM, schema: SchemaOption, drop: () => Promise<void>): Promise<void> {
  try {
    await makeSchema(orm, schema);
  } catch (error) {
    await drop();
    throw error;
  }
}

async function dropMongo(orm: MongoORM): Promise<void> {
  await orm.em.getConnection().getDb().dropDatabase();
  await orm.close(true);
}

async function openPostgreSql({ entities, orm: given, schema }: OrmOptions): Promise<OpenDatabase> {
  const { MikroORM: Driver } = await import('@mikro-orm/postgresql');
  const server = serverUrl('postgresql');
  const open = async (name: string): Promise<MikroORM> => {
    const clientUrl = urlOfDatabase(server, name);
    return Driver.init({ ...given, clientUrl, entities: [...entities] } as object);
  };
  const name = freshName();
  const orm = await open(name);
  try {
    const sql = await orm.schema.getCreateSchemaSQL();
    await onServer(server, async (execute) => {
      const template =
        schema === 'entities'
          ? await templateOfEntities(execute, sql, open)
          : await preparedTemplate(execute, { sql, open, schema, given });
      await execute(`create database "${name}" template "${template}"`);
    });
  } catch (error) {
    await orm.close(true);
    throw error;
  }
  const drop = async (): Promise<void> => {
    await orm.close(true);
    await dropPostgreSql(server, name);
  };
  return { orm, drop };
}

async function dropPostgreSql(server: string, name: string): Promise<void> {
  await onServer(server, (execute) => execute(`drop database if exists "${name}" with (force)`));
}

type Execute = (sql: string) => Promise<unknown>;

type Open = (name: string) => Promise<MikroORM>;

/** The name of a template, by everything that its content depends on. */
function templateName(...parts: readonly string[]): string {
  return `viewset_template_${createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16)}`;
}

async function templateOfEntities(execute: Execute, sql: string, open: Open): Promise<string> {
  const template = templateName(sql);
  await makeTemplate(execute, template, async (draft) => {
    const first = await open(draft);
    await first.schema.create();
    await first.close(true);
  });
  return template;
}

interface Prepared {
  /** The statements that would create the schema of the entities. */
  readonly sql: string;
  readonly open: Open;
  readonly schema: Exclude<SchemaOption, 'entities'>;
  readonly given: object;
}

/** The templates that this process has prepared, by the function or by the options of the migrations. */
const prepared = new WeakMap<object, Map<string, Promise<string>>>();

/**
 * Returns the template that a function or migrations have prepared. They run once in each process, because what they do
 * may have changed. The statements that they run are part of the template's name.
 */
function preparedTemplate(execute: Execute, { sql, open, schema, given }: Prepared): Promise<string> {
  const key = typeof schema === 'function' ? schema : given;
  const known = prepared.get(key) ?? new Map<string, Promise<string>>();
  prepared.set(key, known);
  const found = known.get(sql) ?? prepareTemplate(execute, { sql, open, schema, given });
  known.set(sql, found);
  found.catch(() => known.delete(sql));
  return found;
}

async function prepareTemplate(execute: Execute, { sql, open, schema }: Prepared): Promise<string> {
  const draft = freshName();
  await execute(`create database "${draft}"`);
  try {
    const orm = await open(draft);
    const statements: string[] = [];
    try {
      await recordQueries(
        orm,
        () => makeSchema(orm, schema),
        ({ query, params = [] }) => statements.push(`${String(query)} ${JSON.stringify(params)}`),
      );
    } finally {
      await orm.close(true);
    }
    const template = templateName(sql, String(schema), ...statements);
    await makeTemplate(execute, template, draft);
    return template;
  } finally {
    await execute(`drop database if exists "${draft}" with (force)`);
  }
}

/**
 * Creates the template database, unless it exists. Processes wait for each other. A draft gets the final name only when
 * it is complete.
 *
 * @param content a complete draft, or the function that fills one
 */
async function makeTemplate(
  execute: Execute,
  template: string,
  content: string | ((name: string) => Promise<void>),
): Promise<void> {
  const isThere = async (): Promise<boolean> => {
    const found = (await execute(`select 1 from pg_database where datname = '${template}'`)) as readonly unknown[];
    return found.length > 0;
  };
  if (await isThere()) return;
  await execute(`select pg_advisory_lock(hashtext('${template}'))`);
  try {
    if (await isThere()) return;
    const draft = typeof content === 'string' ? content : freshName();
    if (typeof content === 'function') {
      await execute(`create database "${draft}"`);
      await content(draft);
    }
    await execute(`alter database "${draft}" rename to "${template}"`);
  } finally {
    await execute(`select pg_advisory_unlock(hashtext('${template}'))`);
  }
}

/** Runs statements on the server's default database, over one connection. */
async function onServer<Result>(clientUrl: string, work: (execute: Execute) => Promise<Result>): Promise<Result> {
  const { MikroORM } = await import('@mikro-orm/postgresql');
  const discovery = { warnWhenNoEntities: false };
  const orm = await MikroORM.init({ clientUrl, entities: [], discovery, pool: { min: 0, max: 1 } });
  try {
    return await work((sql) => orm.em.getConnection().execute(sql));
  } finally {
    await orm.close(true);
  }
}

function freshName(): string {
  return `viewset_test_${randomBytes(6).toString('hex')}`;
}

function urlOfDatabase(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

function serverUrl(database: keyof typeof VARIABLES): string {
  const variable = VARIABLES[database];
  const url = process.env[variable];
  if (url !== undefined && url !== '') return url;
  throw new Error(`@viewset/testing: set ${variable} to the URL of a server on which tests may create databases`);
}
