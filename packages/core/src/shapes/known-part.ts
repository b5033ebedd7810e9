import type { TSchema } from 'typebox';
import { naming } from '../options.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import { Reading } from '../schema/reading.ts';
import { MAX_PROBLEMS } from '../schema/scan-input.ts';

/** Takes of a value what a schema knows. Throws for a value that does not fit the schema, and names the place in it. */
export type KnownPart = (value: unknown) => unknown;

/**
 * Compiles what an answer shows of the values of a column whose schema the application has declared. The serializer would turn
 * a value of another type into one of the schema's (`null` into `""`, an object into `"[object Object]"`) wherever it can.
 *
 * @param owner the column, for messages
 * @throws ImproperlyConfigured for a schema that cannot be compiled
 */
export function knownPart(owner: string, schema: TSchema): KnownPart {
  const node = naming(owner, () => compileSchema(schema, 'body'));
  const read = (value: unknown): { readonly known: unknown; readonly reading: Reading } => {
    const reading = new Reading(MAX_PROBLEMS);
    return { known: node.read(value, reading), reading };
  };
  return (value) => {
    const asHeld = read(value);
    if (asHeld.reading.faults.length === 0) return asHeld.known;
    // An entity that has just been written may hold what is no JSON yet, as a Date is.
    const { known, reading } = typeof value === 'object' ? read(JSON.parse(JSON.stringify(value))) : asHeld;
    if (reading.faults.length === 0) return known;
    const faults = reading.faults.map(({ path, message }) => `${path || 'it'} ${message}`);
    throw new TypeError(`${owner} does not fit its schema: ${faults.join('; ')}`);
  };
}
