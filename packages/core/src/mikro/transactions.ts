import type { MikroORM } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';

/** The part of an ORM that knows if there are transactions. */
type WithDriver = { readonly driver: Pick<MikroORM['driver'], 'getPlatform'> };

/** Tells if an ORM has transactions: MikroORM's option `disableTransactions` says that writes of a single record are all one needs. */
export function hasTransactions({ driver }: WithDriver): boolean {
  return driver.getPlatform().supportsTransactions();
}

/**
 * Throws at start if the ORM has no transactions (`disableTransactions: true`). Call it in a plugin whose requests use `inTransaction`,
 * which would otherwise give 500 at the first request.
 *
 * @param what the work that takes a transaction, and the subject of the sentence
 * @throws ImproperlyConfigured if the ORM has none
 * @example
 * requireTransactions(app.viewset.orm, 'POST /swap');
 * // ImproperlyConfigured: POST /swap needs a transaction, but the ORM has none (disableTransactions)
 */
export function requireTransactions(orm: WithDriver, what: string): void {
  if (!hasTransactions(orm)) throw lacksTransactions(what);
}

/** @param what the work that takes a transaction, and the subject of the sentence */
export function lacksTransactions(what: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`${what} needs a transaction, but the ORM has none (disableTransactions)`);
}
