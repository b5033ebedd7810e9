import { MikroORM } from '@mikro-orm/mongodb';
import { MongoExtension } from '@viewset/mongodb';
import { entities } from './entities.ts';

/** The kind of database, for the tests. */
export const database = 'mongodb';

/** Opens the database, and adds the collections and indexes that are missing. */
export async function openDatabase() {
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL === undefined) throw new Error('Set DATABASE_URL, here or in .env: mongodb://host/library');
  const orm = await MikroORM.init({ clientUrl: DATABASE_URL, entities, extensions: [MongoExtension] });
  await orm.schema.update();
  return orm;
}
