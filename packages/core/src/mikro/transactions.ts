import type { MikroORM } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';

/** The part of an ORM that knows whether it has transactions. */
type WithDriver = { readonly driver: Pick<MikroORM['driver'], 'getPlatform'> };

/**
 * Reports whether an ORM has transactions. MikroORM's option `disableTransactions` turns them off, for applications
 * that only write single records.
 */
export function hasTransactions({ driver }: WithDriver): boolean {
  return driver.getPlatform().supportsTransactions();
}

/**
 * Fails at startup if the ORM has no transactions (`disableTransactions: true`). Call it in a plugin whose requests use
 * `inTransaction`, which would otherwise give 500 at the first request.
 *
 * @param what the work that needs a transaction, and the subject of the sentence
 * @throws ImproperlyConfigured if the ORM has none
 * @example
 * requireTransactions(app.viewset.orm, 'POST /swap');
 * // ImproperlyConfigured: POST /swap needs a transaction, but the ORM has none (disableTransactions)
 */
export function requireTransactions(orm: WithDriver, what: string): void {
  if (!hasTransactions(orm)) throw lacksTransactions(what);
}

/** @param what the work that needs a transaction, and the subject of the sentence */
export function lacksTransactions(what: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`${what} needs a transaction, but the ORM has none (disableTransactions)`);
}
