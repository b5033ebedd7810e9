import { ImproperlyConfigured } from '@viewset/core';
import { fastify } from 'fastify';
import { inspect } from 'node:util';
import { migrateDatabase } from './migrate-database.ts';
import { readSettings } from './settings.ts';

/** `pnpm --filter @viewset/shop migrate`: migrates the database of the shop's settings. */
try {
  await migrateDatabase(readSettings(), fastify({ logger: true }).log);
} catch (error) {
  process.stderr.write(
    `${error instanceof ImproperlyConfigured ? `${error.name}: ${error.message}` : inspect(error)}\n`,
  );
  process.exitCode = 1;
}
