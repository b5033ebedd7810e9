import type { FastifyBaseLogger } from 'fastify';
import { openDatabase } from './database.ts';
import { seed } from './seed.ts';
import type { Settings } from './settings.ts';

/**
 * Brings the database to the schema of this version, and seeds it if it is new. Does nothing if nothing is to be done, and may
 * run several times at once. If it fails, the database is as before.
 */
export async function migrateDatabase(settings: Settings, log: FastifyBaseLogger): Promise<void> {
  const database = await openDatabase(settings, log);
  try {
    await seed(database, settings, log, { schema: 'migrate' });
    log.info('the database is up to date');
  } finally {
    await database.orm.close();
  }
}
