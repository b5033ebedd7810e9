import { checkOptionNames, wrongOption } from '@viewset/core';

/** The options of the `telemetry` plugin; none is required. */
export interface TelemetryOptions {
  /**
   * True: each response gets the header `Server-Timing` with the times of the request and its statements. Browsers show
   * it. Every client then sees how long the database takes. Default: false.
   */
  readonly serverTiming?: boolean;
  /**
   * Statements that take this many milliseconds or longer are logged as warnings, with the view and the action. With
   * null none are. Default: 500.
   */
  readonly slowStatementMs?: number | null;
}

/** The options with their defaults. */
export type ResolvedOptions = Readonly<Required<TelemetryOptions>>;

/**
 * Fills in the defaults.
 *
 * @throws ImproperlyConfigured if an option is unknown or wrong
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
