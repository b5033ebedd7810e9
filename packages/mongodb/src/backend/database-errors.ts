import { type DriverException, UniqueConstraintViolationException } from '@mikro-orm/core';
import type { DatabaseErrors } from '@viewset/core/backend';
import { isConnectionLost } from '../mikro/mongo-errors.ts';
import { isLostRace } from '../mikro/session.ts';

/** BSONObjectTooLarge, and the same error for a document that an update creates. */
const TOO_LARGE: ReadonlySet<unknown> = new Set([10_334, 17_419]);

/**
 * No server is reachable or primary (HostUnreachable, HostNotFound, NetworkTimeout, SocketException,
 * PrimarySteppedDown, NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary), the server is stopping
 * (ShutdownInProgress, InterruptedAtShutdown, InterruptedDueToReplStateChange), an answer takes too long
 * (MaxTimeMSExpired, ExceededTimeLimit), or too few members have confirmed a write (WriteConcernTimeout).
 */
const UNAVAILABLE: ReadonlySet<unknown> = new Set([
  6, 7, 89, 9001, 189, 10_107, 13_435, 13_436, 91, 11_600, 11_602, 50, 262, 64,
]);

/**
 * MongoDB's errors, which have numbers as codes. This package makes the errors about references itself, in the form of
 * a SQL database (`mikro/references.ts`).
 */
export const MONGO_ERRORS: DatabaseErrors = Object.freeze({
  violationOf(error) {
    const code: unknown = error.code;
    if (typeof code !== 'number') return undefined;
    if (TOO_LARGE.has(code)) return { kind: 'value', constraint: undefined, table: undefined, columns: '' };
    return error instanceof UniqueConstraintViolationException ? takenValue(error) : undefined;
  },
  isUnavailable(error) {
    const { code } = error as { code?: unknown };
    return typeof code === 'number' ? UNAVAILABLE.has(code) : isConnectionLost(error);
  },
  isTransactionLost: isLostRace,
} satisfies DatabaseErrors);

/** E11000 duplicate key error collection: shop.book index: owner_id_1_name_1 dup key: { … } */
function takenValue(error: DriverException): ReturnType<DatabaseErrors['violationOf']> {
  const { message, keyPattern = {} } = error as Error & { keyPattern?: object };
  const [, table, constraint] = message.match(/^.*? collection: [^.]+\.(.+?) index: (.+?) dup key:/) ?? [];
  return { kind: 'unique', constraint, table, columns: Object.keys(keyPattern).join(', ') };
}
