import { defineEntity, p } from '@mikro-orm/core';

/**
 * The table of the answers that `IdempotencyKeys` stores. Add it to the entities of the ORM, and to your migrations. No column tells a key, a
 * request or an answer to those who read the table: they are hashes, and the answer is encrypted by the client's key.
 *
 * @example
 * const orm = await MikroORM.init({ dbName: 'shop.db', entities: [Order, IdempotencyRecord] });
 */
export const IdempotencyRecord = defineEntity({
  name: 'IdempotencyRecord',
  tableName: 'idempotency_record',
  properties: {
    /** The hash of the account, the route and the key. */
    id: p.string().length(64).primary(),
    /** The hash of the request, keyed by its key. */
    fingerprint: p.string().length(64),
    /** Null while the first request runs, which no other transaction sees. */
    answer: p.text().nullable(),
    expiresAt: p.datetime().index(),
  },
});
