import type { MikroORM } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';

/** Tells if an ORM has transactions: MikroORM's option `disableTransactions` says that writes of a single record are all one needs. */
export function hasTransactions({ driver }: { readonly driver: Pick<MikroORM['driver'], 'getPlatform'> }): boolean {
  return driver.getPlatform().supportsTransactions();
}

/** @param what the work that takes a transaction, and the subject of the sentence */
export function lacksTransactions(what: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`${what} takes a transaction, and the ORM has none (disableTransactions)`);
}
