import type { TSchema } from 'typebox';
import type { FieldPath } from '../fields/field-path.ts';
import type { FieldKind, FieldType } from '../fields/field-type.ts';
import { lookupsFor } from '../language/lookup.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * Makes the schema of the rules that a JsonLogicFilter takes, for documents: comparisons, and lists of them. Rules may be
 * nested deeper, and have the value on the left, which would take a schema that no reader of documents is up to. What a
 * rule means, and which one is refused, is JsonLogicReader's to say.
 *
 * @param subject begins the names of the definitions, `Product`
 */
export function jsonLogicSchema(subject: string, fields: readonly FieldPath[]): TSchema {
  const comparison = { $ref: `#/$defs/${subject}Comparison` };
  const several = { type: 'array', items: comparison, minItems: 1 };
  const groups = groupsOf(fields).map((group, index) => ({ group, name: `${subject}Field${index + 1}` }));
  const named = groups.map(({ group, name }) => [name, oneOf({ var: { type: 'string', enum: group.names } })] as const);
  const compared = groups.map(({ group, name }) => comparisonSchema(group, { $ref: `#/$defs/${name}` }));
  const definitions = {
    ...Object.fromEntries(named),
    [`${subject}Comparison`]: { anyOf: compared },
    [`${subject}Rule`]: { anyOf: [comparison, oneOf({ and: several, or: several, '!': comparison })] },
  };
  return { $ref: `#/$defs/${subject}Rule`, $defs: definitions };
}

/** Fields that are compared in the same ways, with the same values. */
interface FieldGroup {
  readonly names: string[];
  readonly kind: FieldKind;
  readonly value: Schema;
}

function groupsOf(fields: readonly FieldPath[]): FieldGroup[] {
  const groups = new Map<string, FieldGroup>();
  for (const { key, type } of fields) {
    const group = { names: [], kind: type.kind, value: jsonValue(type) };
    const text = JSON.stringify(group);
    groups.set(text, groups.get(text) ?? group);
    groups.get(text)!.names.push(key);
  }
  return [...groups.values()];
}

function comparisonSchema({ kind, value }: FieldGroup, field: Schema): Schema {
  const lookups = lookupsFor(kind);
  const equal = list(field, lookups.includes('exact') ? { anyOf: [value, { type: 'null' }] } : { type: 'null' });
  const operators: Record<string, Schema> = { '==': equal, '!=': equal };
  if (lookups.includes('gt')) {
    const pair = list(field, value);
    const between = { anyOf: [pair, list(value, field, value)] };
    Object.assign(operators, { '>': pair, '>=': pair, '<': between, '<=': between });
  }
  if (lookups.includes('in')) {
    const values = list(field, { type: 'array', items: value });
    operators['in'] = kind === 'string' ? { anyOf: [values, list(value, field)] } : values;
  }
  return oneOf(operators);
}

/** Makes the schema of an object that has one of these properties, and no other. */
function oneOf(properties: Schema): Schema {
  return { type: 'object', properties, minProperties: 1, maxProperties: 1, additionalProperties: false };
}

function list(...items: readonly Schema[]): Schema {
  return { type: 'array', prefixItems: items, minItems: items.length, maxItems: items.length };
}

/** Makes the schema of what `checkFieldJson` takes. */
function jsonValue({ kind, mode, minimum, maximum, values }: FieldType): Schema {
  const isText = mode !== 'number' && (kind === 'bigint' || kind === 'decimal');
  if (kind === 'integer' || kind === 'bigint') {
    const least = Math.max(Number(minimum ?? -Infinity), Number.MIN_SAFE_INTEGER);
    const most = Math.min(Number(maximum ?? Infinity), Number.MAX_SAFE_INTEGER);
    const integer = { type: 'integer', minimum: least, maximum: most };
    return isText ? { anyOf: [integer, { type: 'string', pattern: '^(?:0|-?[1-9][0-9]{0,17})$' }] } : integer;
  }
  if (kind === 'number' || kind === 'decimal') {
    return isText
      ? { anyOf: [{ type: 'number' }, { type: 'string', pattern: '^-?[0-9]+(?:\\.[0-9]+)?$' }] }
      : { type: 'number' };
  }
  if (kind === 'boolean') return { type: 'boolean' };
  if (kind === 'enum') return { enum: values };
  const format = TEXT_FORMATS[kind];
  return { type: 'string', ...(format === undefined ? {} : { format }) };
}

/** The formats of what JSON has no type for. */
export const TEXT_FORMATS: Readonly<Partial<Record<FieldKind, string>>> = {
  datetime: 'date-time',
  date: 'date',
  time: 'time',
  uuid: 'uuid',
};
