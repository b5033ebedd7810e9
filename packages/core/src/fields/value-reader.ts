import type { Platform } from '@mikro-orm/core';
import type { FieldPath } from './field-path.ts';

/**
 * Turns what the driver gives for a column into what the entity would hold: numbers, bigints, dates, JSON, booleans,
 * custom types. Undefined where the driver's value is that already. Null stays null and is never passed in.
 */
export function valueReader(path: FieldPath, platform: Platform): ((raw: unknown) => unknown) | undefined {
  throw new Error(`not written yet ${path.key} ${String(platform)}`);
}
