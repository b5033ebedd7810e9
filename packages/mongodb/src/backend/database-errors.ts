import { type DriverException, UniqueConstraintViolationException } from '@mikro-orm/core';
import type { DatabaseErrors } from '@viewset/core/backend';
import { isConnectionLost } from '../mikro/mongo-errors.ts';
import { isWriteConflict } from '../mikro/session.ts';

/** BSONObjectTooLarge, and the same error for a document that an update creates. */
const TOO_LARGE: ReadonlySet<unknown> = new Set([10_334, 17_419]);

/**
 * - No server is reachable, or it is still starting: HostUnreachable, HostNotFound, NetworkTimeout, SocketException,
 *   NotYetInitialized, PooledConnectionAcquisitionExceededTimeLimit.
 * - No server is primary, or none may serve the read: PrimarySteppedDown, LegacyNotPrimary, NotWritablePrimary,
 *   NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary, FailedToSatisfyReadPreference, ReadConcernMajorityNotAvailableYet.
 * - The server is stopping, or an operator ended the command: ShutdownInProgress, InterruptedAtShutdown,
 *   InterruptedDueToReplStateChange, Interrupted.
 * - An answer takes too long: MaxTimeMSExpired, ExceededTimeLimit.
 * - Too few members confirm a write: WriteConcernTimeout, UnsatisfiableWriteConcern.
 * - The server has no resources, or is closed to writes: OutOfDiskSpace, TemporarilyUnavailable, UserWritesBlocked.
 */
const UNAVAILABLE: ReadonlySet<unknown> = new Set([
  6, 7, 89, 9001, 94, 202, 189, 10_058, 10_107, 13_435, 13_436, 133, 134, 91, 11_600, 11_602, 11_601, 50, 262, 64, 100,
  14_031, 365, 371,
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
  isTransactionLost: isWriteConflict,
  // A transaction never waits for a record of another one.
  isDeadlock: () => false,
} satisfies DatabaseErrors);

/** An index with a collation of its own is followed by it. */
const DUPLICATE = /^.*? collection: [^.]+\.(.+?) index: (.+?)(?: collation: \{.*?\})? dup key:/;

/** E11000 duplicate key error collection: shop.book index: owner_id_1_name_1 dup key: { … } */
function takenValue(error: DriverException): ReturnType<DatabaseErrors['violationOf']> {
  const { message, keyPattern = {} } = error as Error & { keyPattern?: object };
  const [, table, constraint] = message.match(DUPLICATE) ?? [];
  return { kind: 'unique', constraint, table, columns: Object.keys(keyPattern).join(', ') };
}
