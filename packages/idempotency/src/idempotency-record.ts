import { defineEntity, p } from '@mikro-orm/core';

/**
 * The table of answers that `IdempotencyKeys` stores. Add it to the ORM's entities and to your migrations. Its columns
 * do not reveal keys, requests or answers: keys and requests are hashes, and answers are encrypted with the client's
 * key.
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
    /** The HMAC of the request, with the idempotency key as its key. */
    fingerprint: p.string().length(64),
    /** Null while the first request runs, which other transactions cannot see. */
    answer: p.text().nullable(),
    expiresAt: p.datetime().index(),
  },
});
