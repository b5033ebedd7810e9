import type { MikroORM } from '@mikro-orm/core';
import { registerBackend } from '@viewset/core/backend';
import { MongoBackend } from './backend/mongo-backend.ts';
import { askForCommits, readEveryKey } from './mikro/connection.ts';
import { dropCounters } from './mikro/counters.ts';
import { extendDriver } from './mikro/extend-driver.ts';
import { leaveNullsOut } from './mikro/indexes.ts';
import { nameKeyColumn, storeExactly } from './mikro/metadata.ts';
import { mongoDriverOf } from './mikro/mongo-driver.ts';
import { convertLostConnections } from './mikro/mongo-errors.ts';

const extended = new WeakSet<object>();

/**
 * Lets views read and write MongoDB. It also enforces rules of entities that SQL databases enforce with their schema.
 * Add it to every ORM on MongoDB; on other databases it does nothing.
 *
 * - Keys: the column of a primary key is `_id`, whatever the property is called. Integer keys are counted outside of transactions,
 *   so a rollback leaves a gap.
 * - References: a referenced record must exist. Deleting it applies the `deleteRule` in the same transaction: the
 *   deletion is rejected, or the reference becomes NULL, or the referring record is deleted too. References with
 *   `createForeignKeyConstraint: false` are not checked. Without transactions (`disableTransactions`), writing a
 *   checked reference throws ImproperlyConfigured.
 * - Unique fields may be NULL in any number of documents.
 * - A flush is a transaction (`implicitTransactions`).
 *
 * @example
 * import { MikroORM } from '@mikro-orm/mongodb';
 *
 * const orm = await MikroORM.init({
 *   clientUrl: 'mongodb://localhost/shop?replicaSet=rs0',
 *   entities: [Product],
 *   extensions: [MongoExtension],
 * });
 * await orm.schema.update();   // collections and indexes
 */
export const MongoExtension: { readonly register: (orm: MikroORM) => void } = Object.freeze({
  register(orm: MikroORM): void {
    const driver = mongoDriverOf(orm);
    if (driver === undefined || extended.has(driver)) return;
    extended.add(driver);
    registerBackend(driver, new MongoBackend());
    const { onMetadata, afterDiscovered, ...others } = orm.config.get('discovery');
    orm.config.set('discovery', {
      ...others,
      onMetadata: (meta, platform) => {
        nameKeyColumn(meta);
        return onMetadata?.(meta, platform);
      },
      afterDiscovered: (entities, platform) => {
        storeExactly(entities, platform);
        leaveNullsOut(entities);
        return afterDiscovered?.(entities, platform);
      },
    });
    orm.config.set('implicitTransactions', true);
    convertLostConnections(driver.getPlatform());
    extendDriver(driver);
    dropCounters(driver);
    for (const purpose of ['read', 'write'] as const) readEveryKey(driver.getConnection(purpose));
    askForCommits(driver.getConnection('write'));
  },
});
