import type { TSchema } from 'typebox';
import { pointerStep } from '../support/json.ts';
import { prefixErrors } from '../errors/options.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import { Reading } from '../schema/reading.ts';
import { MAX_PROBLEMS, placedAt } from '../schema/scan-input.ts';
import { UnfitValue } from '../schema/unfit-value.ts';

/**
 * Returns the part of a value that a schema describes. Throws if the value does not fit the schema, and names the place
 * in the value.
 */
export type KnownPart = (value: unknown) => unknown;

/**
 * Compiles the visible part of a column's values, for a schema that the application declared. It also fills in the
 * defaults of the schema.
 *
 * @param entity the name of the entity
 * @throws ImproperlyConfigured for a schema that cannot be compiled
 */
export function knownPart(entity: string, property: string, schema: TSchema): KnownPart {
  const node = prefixErrors(`${entity}.${property}`, () => compileSchema(schema, 'body'));
  const read = (value: unknown): { readonly known: unknown; readonly reading: Reading } => {
    const reading = new Reading(MAX_PROBLEMS);
    return { known: node.read(value, reading), reading };
  };
  return (value) => {
    const asHeld = read(value);
    if (asHeld.reading.faults.length === 0) return asHeld.known;
    // An entity that was just written may hold values that are not JSON yet, such as a Date.
    const { known, reading } = typeof value === 'object' ? read(JSON.parse(JSON.stringify(value))) : asHeld;
    if (reading.faults.length === 0) return known;
    throw new UnfitValue(placedAt(pointerStep(property), reading.faults), { entity });
  };
}
