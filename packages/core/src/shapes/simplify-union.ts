import { ANNOTATIONS, type JsonSchema } from './json-schema.ts';

/** Keywords that speak of values of one type only, and leave those of every other type alone. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
  array: ['items', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains'],
  object: [
    'properties',
    'patternProperties',
    'additionalProperties',
    'required',
    'minProperties',
    'maxProperties',
    'propertyNames',
  ],
};

/**
 * Writes a union as one schema if its members cannot be mistaken for each other: literals as an `enum`, members of
 * different types as one schema of several types. The same values are valid; the errors are plain, and no member has to
 * be tried. Any other union comes back as it is.
 */
export function simplifyUnion(schema: JsonSchema): JsonSchema {
  if (schema.anyOf === undefined) return schema;
  const { anyOf, ...siblings } = schema;
  if (!Object.keys(siblings).every((keyword) => ANNOTATIONS.has(keyword))) return schema;
  const merged = asEnum(anyOf) ?? asTypes(anyOf);
  return merged === undefined ? schema : { ...merged, ...siblings };
}

function asEnum(members: readonly JsonSchema[]): JsonSchema | undefined {
  const values = members.map(literals);
  return values.every((some) => some !== undefined) ? { enum: [...new Set(values.flat())] } : undefined;
}

function literals(member: JsonSchema): readonly unknown[] | undefined {
  const keywords = Object.keys(member).filter((keyword) => keyword !== 'type' && !ANNOTATIONS.has(keyword));
  if (keywords.length === 0) return member.type === 'null' ? [null] : undefined;
  if (keywords.length > 1) return undefined;
  if (keywords[0] === 'const') return [member['const']];
  return keywords[0] === 'enum' ? member.enum : undefined;
}

function asTypes(members: readonly JsonSchema[]): JsonSchema | undefined {
  const types: string[] = [];
  const merged: Record<string, unknown> = {};
  for (const member of members) {
    const { type, ...rest } = member;
    if (typeof type !== 'string') return undefined;
    const speaks = OF_TYPE[type] ?? [];
    const constraints = Object.entries(rest).filter(([keyword]) => !ANNOTATIONS.has(keyword));
    if (!constraints.every(([keyword]) => speaks.includes(keyword))) return undefined;
    types.push(type);
    Object.assign(merged, Object.fromEntries(constraints));
  }
  const numbers = types.filter((type) => type === 'number' || type === 'integer').length;
  if (new Set(types).size < types.length || numbers > 1) return undefined;
  return { type: types, ...merged };
}
