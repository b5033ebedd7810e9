import { isObject } from './json-schema.ts';

/** Returns the schema of what stands in the envelope of a body or an answer; of one without an envelope the schema itself. */
export function insideOf(schema: unknown, envelope: string | undefined): unknown {
  if (envelope === undefined || !isObject(schema) || !isObject(schema['properties'])) return schema;
  return schema['properties'][envelope] ?? schema;
}

/** Changes the schema of what stands in the envelope of a body or an answer. */
export function changeInside(
  schema: unknown,
  envelope: string | undefined,
  change: (inside: unknown) => unknown,
): unknown {
  const inside = insideOf(schema, envelope);
  if (inside === schema || envelope === undefined || !isObject(schema)) return change(schema);
  return { ...schema, properties: { ...(schema['properties'] as object), [envelope]: change(inside) } };
}
