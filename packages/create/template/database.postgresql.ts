import { MikroORM } from '@mikro-orm/postgresql';
import { entities } from './entities.ts';

/** The kind of database, for the tests. */
export const database = 'postgresql';

/** Opens the database, and adds the tables and columns that are missing. */
export async function openDatabase() {
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL === undefined) throw new Error('Set DATABASE_URL, here or in .env: postgres://user@host/library');
  const orm = await MikroORM.init({ clientUrl: DATABASE_URL, entities });
  await orm.schema.update({ safe: true });
  return orm;
}
