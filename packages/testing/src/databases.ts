import { createHash, randomBytes } from 'node:crypto';
import type { AnyEntity, EntityClass, EntitySchema, MikroORM, Options } from '@mikro-orm/core';

/** A database that tests can run on. */
export type TestDatabase = 'sqlite' | 'postgresql' | 'mongodb';

/** The parts of an ORM that an application decides. */
export interface OrmOptions {
  readonly entities: readonly (EntityClass<AnyEntity> | EntitySchema)[];
  readonly orm: Partial<Options>;
}

/** An ORM on an empty database of its own. */
export interface OpenDatabase {
  readonly orm: MikroORM;
  /** Closes the ORM and drops the database. */
  drop(): Promise<void>;
}

const OPENERS: Readonly<Record<TestDatabase, (options: OrmOptions) => Promise<OpenDatabase>>> = {
  sqlite: openSqlite,
  postgresql: openPostgreSql,
  mongodb: openMongo,
};

/** Opens an empty database with the schema of the entities. */
export function openDatabase(database: TestDatabase, options: OrmOptions): Promise<OpenDatabase> {
  if (!Object.hasOwn(OPENERS, database)) {
    throw new Error(`testApp: "database" must be sqlite, postgresql or mongodb, but got ${database}`);
  }
  return OPENERS[database](options);
}

async function openSqlite({ entities, orm: given }: OrmOptions): Promise<OpenDatabase> {
  const { MikroORM } = await import('@mikro-orm/sqlite');
  const orm = await MikroORM.init({ ...given, dbName: ':memory:', entities: [...entities] } as object);
  await orm.schema.create();
  return { orm, drop: () => orm.close(true) };
}

async function openMongo({ entities, orm: given }: OrmOptions): Promise<OpenDatabase> {
  const [{ MikroORM }, { MongoExtension }] = await Promise.all([
    import('@mikro-orm/mongodb'),
    import('@viewset/mongodb'),
  ]);
  const clientUrl = urlOfDatabase(serverUrl('TEST_MONGODB_URL'), freshName());
  const extensions = [MongoExtension];
  const orm = await MikroORM.init({ extensions, ...given, clientUrl, entities: [...entities] } as object);
  await orm.schema.create();
  const drop = async (): Promise<void> => {
    await orm.em.getConnection().getDb().dropDatabase();
    await orm.close(true);
  };
  return { orm, drop };
}

async function openPostgreSql({ entities, orm: given }: OrmOptions): Promise<OpenDatabase> {
  const { MikroORM: Driver } = await import('@mikro-orm/postgresql');
  const server = serverUrl('TEST_POSTGRES_URL');
  const open = async (name: string): Promise<MikroORM> => {
    const clientUrl = urlOfDatabase(server, name);
    return Driver.init({ ...given, clientUrl, entities: [...entities] } as object);
  };
  const name = freshName();
  const orm = await open(name);
  const schema = await orm.schema.getCreateSchemaSQL();
  const template = `viewset_template_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`;
  await onServer(server, async (execute) => {
    await makeTemplate(execute, template, async (draft) => {
      const first = await open(draft);
      await first.schema.create();
      await first.close(true);
    });
    await execute(`create database "${name}" template "${template}"`);
  });
  const drop = async (): Promise<void> => {
    await orm.close(true);
    await onServer(server, (execute) => execute(`drop database if exists "${name}" with (force)`));
  };
  return { orm, drop };
}

type Execute = (sql: string) => Promise<unknown>;

/** Makes a database to copy, unless it is there already. Processes wait for each other; a draft has its name when it is complete. */
async function makeTemplate(
  execute: Execute,
  template: string,
  createSchema: (name: string) => Promise<void>,
): Promise<void> {
  const isThere = async (): Promise<boolean> => {
    const found = (await execute(`select 1 from pg_database where datname = '${template}'`)) as readonly unknown[];
    return found.length > 0;
  };
  if (await isThere()) return;
  await execute(`select pg_advisory_lock(hashtext('${template}'))`);
  try {
    if (await isThere()) return;
    const draft = freshName();
    await execute(`create database "${draft}"`);
    await createSchema(draft);
    await execute(`alter database "${draft}" rename to "${template}"`);
  } finally {
    await execute(`select pg_advisory_unlock(hashtext('${template}'))`);
  }
}

/** Runs statements on the server's own database, over one connection. */
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

function serverUrl(variable: 'TEST_POSTGRES_URL' | 'TEST_MONGODB_URL'): string {
  const url = process.env[variable];
  if (url !== undefined && url !== '') return url;
  throw new Error(`testApp: set ${variable} to the URL of a server on which tests may create databases`);
}
