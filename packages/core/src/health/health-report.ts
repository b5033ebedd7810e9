/** `ok`, or `unavailable` whatever else is the matter. */
export type HealthStatus = 'ok' | 'unavailable';

/** The part of a report about one check; `duration_ms` is in milliseconds, to a tenth. */
export interface CheckReport {
  readonly status: HealthStatus;
  readonly duration_ms: number;
}

/** The body of an answer: never a driver's message or an address. */
export interface HealthReport {
  readonly status: HealthStatus;
  readonly checks: Readonly<Record<string, CheckReport>>;
}

const STATUS = { type: 'string', enum: ['ok', 'unavailable'] };

export const HEALTH_REPORT_SCHEMA = {
  type: 'object',
  required: ['status', 'checks'],
  properties: {
    status: STATUS,
    checks: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        required: ['status', 'duration_ms'],
        properties: { status: STATUS, duration_ms: { type: 'number' } },
      },
    },
  },
} as const;

export const LIVENESS_SCHEMA = { type: 'object', required: ['status'], properties: { status: STATUS } } as const;
