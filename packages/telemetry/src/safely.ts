import { diag } from '@opentelemetry/api';
import type { FastifyBaseLogger } from 'fastify';

/** Returns the result of `work`; undefined if it throws. */
export type Safely = <T>(work: () => T) => T | undefined;

/**
 * Makes the function that calls the SDK, whose samplers, processors and exporters may throw. Their errors fail neither
 * requests nor statements. The first error is logged; OpenTelemetry's diagnostics get all of them.
 */
export function makeSafe(log: FastifyBaseLogger): Safely {
  let isLogged = false;
  return (work) => {
    try {
      return work();
    } catch (error) {
      diag.error('@viewset/telemetry: the SDK has thrown', error);
      if (!isLogged) log.error({ err: error }, 'the SDK of OpenTelemetry has thrown; spans or metrics are missing');
      isLogged = true;
      return undefined;
    }
  };
}
