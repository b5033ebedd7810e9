import type { EntityManager, MikroORM } from '@mikro-orm/core';
import { emptyDatabase, type TestDatabase } from '@viewset/testing';
import { fastify } from 'fastify';
import type { Test } from 'tap';
import { openDatabase } from '../../src/database.ts';
import { readSettings } from '../../src/settings.ts';

/** An empty database that is gone when the test ends: its DATABASE_URL. */
export async function freshDatabase(t: Test, kind: TestDatabase): Promise<string> {
  const { url, drop } = await emptyDatabase(kind);
  t.teardown(drop);
  return url;
}

/** Does something in the database of a shop, past the shop. */
export async function pastShop<Result>(
  databaseUrl: string,
  work: (em: EntityManager, orm: MikroORM) => Promise<Result>,
): Promise<Result> {
  const { orm } = await openDatabase(readSettings({ DATABASE_URL: databaseUrl }), fastify().log);
  try {
    return await work(orm.em.fork(), orm);
  } finally {
    await orm.close();
  }
}

/** Runs one SQL statement on the database of a shop, past the shop. */
export function queryDatabase<Row>(databaseUrl: string, sql: string): Promise<Row[]> {
  return pastShop(databaseUrl, (em) => em.getConnection().execute(sql));
}
