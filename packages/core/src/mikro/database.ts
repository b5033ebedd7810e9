import type { EntityManager } from '@mikro-orm/core';

/** The databases that are supported, by the client package that MikroORM's driver of each one runs on. */
const DATABASES = { 'better-sqlite3': 'sqlite', pg: 'postgresql', mongodb: 'mongodb' } as const;

export type Database = (typeof DATABASES)[keyof typeof DATABASES];

type Driver = Pick<ReturnType<EntityManager['getDriver']>, 'getDependencies'>;

/**
 * Tells which database a driver of MikroORM speaks to; undefined if it is not a supported one. The driver's own list of client packages
 * decides, and no name of a class: a minified bundle renames classes, and drivers on different clients share a platform.
 */
export function databaseOf(driver: Driver): Database | undefined {
  const clients: readonly string[] = driver.getDependencies();
  return Object.entries(DATABASES).find(([client]) => clients.includes(client))?.[1];
}

/** Names the client packages of a driver, for messages. */
export function clientsOf(driver: Driver): string {
  return driver
    .getDependencies()
    .filter((client) => client !== 'kysely')
    .join(', ');
}
