import { checkOptionNames, wrongOption } from '@viewset/core';

/** The options of the `telemetry` plugin; none is required. */
export interface TelemetryOptions {
  /**
   * True: each response has the header `Server-Timing` with the time of the request and of its statements, which browsers show. It tells every
   * client how long the database takes. Default: false.
   */
  readonly serverTiming?: boolean;
  /** A statement that takes so many milliseconds or longer is logged as a warning, with the view and the action. null: none is. Default: 500. */
  readonly slowStatementMs?: number | null;
}

/** The options with their defaults. */
export type ResolvedOptions = Readonly<Required<TelemetryOptions>>;

/**
 * Fills in the defaults.
 *
 * @throws ImproperlyConfigured for an unknown or a wrong option
 */
export function resolveOptions(options: TelemetryOptions): ResolvedOptions {
  checkOptionNames('telemetry', options, ['serverTiming', 'slowStatementMs']);
  const { serverTiming = false, slowStatementMs = 500 } = options;
  if (typeof serverTiming !== 'boolean') throw wrongOption('telemetry', 'serverTiming', 'true or false', serverTiming);
  if (slowStatementMs !== null && !(Number.isSafeInteger(slowStatementMs) && slowStatementMs > 0)) {
    throw wrongOption('telemetry', 'slowStatementMs', 'a whole number above 0, or null', slowStatementMs);
  }
  return Object.freeze({ serverTiming, slowStatementMs });
}
