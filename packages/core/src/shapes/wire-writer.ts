import type { Platform } from '@mikro-orm/core';
import type { ShapeField } from './shape-field.ts';

/**
 * Turns what an entity holds for a column into what the answer holds. Undefined where both are the same. Null is never
 * passed in.
 */
export function wireWriter(
  { type, property, list, custom }: ShapeField,
  platform: Platform,
): ((value: never) => unknown) | undefined {
  if (custom) {
    const { customType } = property;
    return customType === undefined ? undefined : (value): unknown => customType.toJSON(value, platform);
  }
  if (list) return undefined;
  if (type.kind === 'datetime') return (value: Date) => value.toISOString();
  if (type.kind === 'bigint') return type.mode === 'number' ? undefined : String;
  return type.kind === 'binary' ? toBase64 : undefined;
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
