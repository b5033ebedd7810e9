import { MikroORM } from '@mikro-orm/sqlite';
import { entities } from './entities.ts';

/** The kind of database, for the tests. */
export const database = 'sqlite';

/** Opens the database, and adds the tables and columns that are missing. */
export async function openDatabase() {
  const { DATABASE_FILE = 'library.sqlite' } = process.env;
  const orm = await MikroORM.init({ dbName: DATABASE_FILE, entities });
  await orm.schema.update({ safe: true });
  return orm;
}
