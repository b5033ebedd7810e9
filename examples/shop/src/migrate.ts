import { ImproperlyConfigured } from '@viewset/core';
import { fastify } from 'fastify';
import { inspect } from 'node:util';
import { openDatabase } from './database.ts';
import { seed } from './seed.ts';
import { readSettings } from './settings.ts';

/**
 * `pnpm --filter @viewset/shop migrate`: brings the database to the schema of this version, and seeds it where it is
 * new. Reads the settings of the shop. Does nothing where nothing is to be done, and may run several times at once.
 */
try {
  const settings = readSettings();
  const { log } = fastify({ logger: true });
  const database = await openDatabase(settings, log);
  try {
    await seed(database, settings, log, { schema: 'migrate' });
    log.info('the database is up to date');
  } finally {
    await database.orm.close();
  }
} catch (error) {
  process.stderr.write(
    `${error instanceof ImproperlyConfigured ? `${error.name}: ${error.message}` : inspect(error)}\n`,
  );
  process.exitCode = 1;
}
