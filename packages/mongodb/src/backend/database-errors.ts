import { type DriverException, UniqueConstraintViolationException } from '@mikro-orm/core';
import type { DatabaseErrors } from '@viewset/core/backend';
import { isConnectionLost } from '../mikro/mongo-errors.ts';
import { isLostRace } from '../mikro/session.ts';

/** BSONObjectTooLarge, and the same of a document that an update makes. */
const TOO_LARGE: ReadonlySet<unknown> = new Set([10_334, 17_419]);

/**
 * No server that can be reached or is the primary (HostUnreachable, HostNotFound, NetworkTimeout, SocketException, PrimarySteppedDown,
 * NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary), one that stops (ShutdownInProgress, InterruptedAtShutdown,
 * InterruptedDueToReplStateChange), an answer that takes too long (MaxTimeMSExpired, ExceededTimeLimit), and a write that too few members
 * have confirmed (WriteConcernTimeout).
 */
const UNAVAILABLE: ReadonlySet<unknown> = new Set([
  6, 7, 89, 9001, 189, 10_107, 13_435, 13_436, 91, 11_600, 11_602, 50, 262, 64,
]);

/**
 * The errors of MongoDB: their codes are numbers. Those of references are made by this package, in the form of a SQL database
 * (`mikro/references.ts`).
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
