import type { MigrationObject } from '@mikro-orm/core';
import { InitialMigration } from './migration-20261121000000-initial.ts';
import { SessionsMigration } from './migration-20261125000000-sessions.ts';
import { FactorsMigration } from './migration-20261125010000-factors.ts';
import { PasskeysMigration } from './migration-20261126000000-passkeys.ts';
import { ListIndexesMigration } from './migration-20261129000000-list-indexes.ts';

/**
 * Every migration of the shop's PostgreSQL, oldest first. The database stores the names of the migrations that it has run: never change a
 * name. Never edit a migration that a database has run either; add a new migration for the next change.
 */
export const MIGRATIONS: readonly (MigrationObject & { readonly name: string })[] = [
  { name: '20261121000000-initial', class: InitialMigration },
  { name: '20261125000000-sessions', class: SessionsMigration },
  { name: '20261125010000-factors', class: FactorsMigration },
  { name: '20261126000000-passkeys', class: PasskeysMigration },
  { name: '20261129000000-list-indexes', class: ListIndexesMigration },
];
