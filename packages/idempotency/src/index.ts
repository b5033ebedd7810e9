export { IdempotencyKeys, type IdempotencyKeysOptions } from './idempotency-keys.ts';
export { IdempotencyRecord } from './idempotency-record.ts';
