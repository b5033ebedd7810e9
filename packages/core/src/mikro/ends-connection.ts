/**
 * SQLSTATEs after which a connection is not used again. Either it is closed or in an unknown state, or its server cannot
 * serve, and a new connection may lead to another one:
 *
 * - connection failures, and the errors of PgBouncer (08);
 * - a server that takes no writes (25006);
 * - timeouts of transactions and sessions (25P03, 25P04, 57P05);
 * - a server without disk, memory or connections (53). Not 53400, a limit that only this statement exceeds;
 * - a server that starts, stops or crashes (57P);
 * - system, configuration and internal errors (58, F0, XX).
 */
const ENDS_CONNECTION = /^(?:08|25006|25P0[34]|53(?!400)|57P|58|F0|XX)/;

/** SQLSTATE of writes on a standby, or under `default_transaction_read_only`. */
const READ_ONLY = '25006';

/** The part of a pg error that is needed. */
interface PgError {
  readonly code?: unknown;
  readonly severity?: unknown;
}

/** Reports whether a connection can continue after an error: the server rejected one statement, with severity ERROR. */
export function survives(error: Error): boolean {
  const { code, severity } = error as PgError;
  // The server may translate the severity. The codes above also cover a translated FATAL or PANIC.
  if (typeof severity !== 'string' || severity === 'FATAL' || severity === 'PANIC') return false;
  return typeof code === 'string' && !ENDS_CONNECTION.test(code);
}

/** Reports whether an error means that the server of a connection takes no writes. */
export function isReadOnly(error: Error): boolean {
  return (error as PgError).code === READ_ONLY;
}
