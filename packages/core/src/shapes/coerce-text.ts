import { namedTypes, type JsonSchema, type ResolveRef } from './json-schema.ts';

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/**
 * Makes of the texts of a query string or a path what their schema asks for: `12` an integer (only its canonical form:
 * neither `012` nor `1e1` nor ` 12`), `true` and `false` a boolean, one or several values an array. A text that fits
 * nothing, and null, stay as they are, for validation to refuse.
 */
export function coerceTexts(schema: JsonSchema, values: Record<string, unknown>, resolveRef: ResolveRef): void {
  for (const part of [schema, ...(schema.allOf ?? [])]) {
    for (const [name, child] of Object.entries(part.properties ?? {})) {
      if (Object.hasOwn(values, name)) values[name] = coerce(child, values[name], resolveRef);
    }
  }
}

function coerce(schema: JsonSchema, value: unknown, resolveRef: ResolveRef): unknown {
  if (schema.$ref !== undefined) return coerce(resolveRef(schema.$ref), value, resolveRef);
  const types = namedTypes(schema);
  if (types.includes('array')) {
    const items = Array.isArray(schema.items) ? {} : ((schema.items ?? {}) as JsonSchema);
    return (Array.isArray(value) ? value : [value]).map((item) => coerce(items, item, resolveRef));
  }
  if (typeof value !== 'string') return value;
  for (const member of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) {
    const coerced = coerce(member, value, resolveRef);
    if (coerced !== value) return coerced;
  }
  return scalar(schema, types, value);
}

function scalar(schema: JsonSchema, types: readonly string[], text: string): unknown {
  const choices = 'const' in schema ? [schema['const']] : schema.enum;
  if (choices !== undefined) {
    const chosen = choices.find((choice) => isScalar(choice) && String(choice) === text);
    return chosen === undefined ? text : chosen;
  }
  if (types.includes('boolean') && BOOLEANS.has(text)) return BOOLEANS.get(text);
  if (types.includes('integer') && INTEGER.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  if (types.includes('number') && NUMBER.test(text) && Number.isFinite(Number(text))) return Number(text);
  return text;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
