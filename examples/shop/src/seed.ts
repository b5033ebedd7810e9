import type { EntityManager } from '@mikro-orm/core';
import { PasswordHasher } from '@viewset/auth';
import { QuerySet } from '@viewset/core';
import type { FastifyBaseLogger } from 'fastify';
import { CATALOGUE } from './catalogue.ts';
import type { Database } from './database.ts';
import { Account } from './entities/account.ts';
import { Product } from './entities/product.ts';
import { Role } from './entities/role.ts';
import { type SchemaPolicy, startOnce } from './schema.ts';
import type { Settings } from './settings.ts';

/** The name of the administrators' role. */
const ADMIN_ROLE = 'admin';

type AdminSettings = Pick<Settings, 'adminEmail' | 'adminPassword' | 'bcryptRounds'>;

/**
 * Creates the tables of an empty database, the roles `admin` and `user`, and fifty products. Creates an administrator in any database
 * without one, if the role exists and no account has the address. Existing data does not change. Several shops may start on one database at
 * the same time.
 *
 * @throws ImproperlyConfigured if the schema is required and PostgreSQL lacks a migration
 */
export async function seed(
  database: Database,
  settings: AdminSettings,
  log: FastifyBaseLogger,
  { schema }: { readonly schema: SchemaPolicy },
): Promise<void> {
  await startOnce(database, schema, async (em, isFirst) => {
    if (isFirst) {
      await em.insertMany(Role, [{ name: ADMIN_ROLE, description: 'May do everything' }, { name: 'user' }]);
      await em.insertMany(Product, [...CATALOGUE]);
      log.info({ products: CATALOGUE.length }, 'schema created, roles and products seeded');
    }
    await seedAdministrator(em, settings, log);
  });
}

async function seedAdministrator(em: EntityManager, settings: AdminSettings, log: FastifyBaseLogger): Promise<void> {
  const { adminEmail: email, adminPassword, bcryptRounds } = settings;
  if (await QuerySet.of(em, Account).filter({ role__name: ADMIN_ROLE }).exists()) return;
  const role = await em.findOne(Role, { name: ADMIN_ROLE });
  if (role === null) {
    log.warn('no administrator is seeded: no role has the name "admin"');
    return;
  }
  if ((await em.count(Account, { email })) > 0) {
    log.warn({ email }, 'no administrator is seeded: the account of ADMIN_EMAIL has not the role "admin"');
    return;
  }
  if (adminPassword === undefined) {
    log.warn('no administrator is seeded: ADMIN_PASSWORD is not set');
    return;
  }
  const password = await new PasswordHasher({ rounds: bcryptRounds }).hash(adminPassword);
  await em.insert(Account, { name: 'Administrator', email, password, role, is_active: true, created_at: new Date() });
  log.info({ email }, 'administrator seeded');
}
