export { telemetry } from './telemetry.ts';
export type { TelemetryOptions } from './options.ts';
