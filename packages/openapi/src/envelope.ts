import { isObject } from './json-schema.ts';

/** Returns the schema inside the envelope of a body or response; without an envelope, the schema itself. */
export function insideOf(schema: unknown, envelope: string | undefined): unknown {
  if (envelope === undefined || !isObject(schema) || !isObject(schema['properties'])) return schema;
  return schema['properties'][envelope] ?? schema;
}

/** Changes the schema inside the envelope of a body or response. */
export function changeInside(
  schema: unknown,
  envelope: string | undefined,
  change: (inside: unknown) => unknown,
): unknown {
  const inside = insideOf(schema, envelope);
  if (inside === schema || envelope === undefined || !isObject(schema)) return change(schema);
  return { ...schema, properties: { ...(schema['properties'] as object), [envelope]: change(inside) } };
}
