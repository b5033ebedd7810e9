import type { TSchema } from 'typebox';
import type { FieldPath } from '../fields/field-path.ts';
import type { FieldType } from '../fields/field-kind.ts';
import { FIELD_KINDS } from '../fields/field-kinds.ts';
import { lookupsFor } from '../query/language/lookup.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * Makes the schema of the rules that a JsonLogicFilter accepts, for documents. A rule is an object with one operator.
 * Its operands are rules, or a field and values of its type in either order. The schema does not limit nesting or
 * comparisons. `JsonLogicReader` decides the meaning of a rule, and whether it is valid.
 *
 * @param subject the prefix of the definitions' names, `Product`
 */
export function jsonLogicSchema(subject: string, fields: readonly FieldPath[]): TSchema {
  const ref = (name: string): Schema => ({ $ref: `#/$defs/${subject}${name}` });
  const rule = ref('Rule');
  const groups = groupsOf(fields);
  const operands = groups.map((group, index) => operandsOf(group, ref(`Field${index + 1}`)));
  const kinds = (Object.keys(OPERATORS) as OperandKind[])
    .map((kind) => [kind, operands.flatMap((each) => each[kind])] as const)
    .filter(([, members]) => members.length > 0);
  const several = { type: 'array', items: rule, minItems: 1 };
  const operators = {
    '^(?:and|or)$': several,
    '^!$': { anyOf: [rule, { ...several, maxItems: 1 }] },
    ...Object.fromEntries(kinds.map(([kind]) => [OPERATORS[kind], ref(kind)])),
  };
  const definitions = {
    // No `properties`: client generators make variables of their names, and "==" is not a valid name.
    Rule: { ...ONE_PROPERTY, patternProperties: operators },
    ...Object.fromEntries(kinds.map(([kind, members]) => [kind, oneOfSeveral(members)])),
    ...Object.fromEntries(groups.map(({ names }, index) => [`Field${index + 1}`, variable(names)])),
  };
  const named = Object.entries(definitions).map(([name, schema]) => [subject + name, schema]);
  return { ...rule, $defs: Object.fromEntries(named) as Schema };
}

/** The operators that accept these operands, as patterns. */
const OPERATORS = { Equality: '^[=!]=$', Order: '^>=?$', Between: '^<=?$', Membership: '^in$' } as const;

type OperandKind = keyof typeof OPERATORS;

const ONE_PROPERTY = { type: 'object', minProperties: 1, maxProperties: 1, additionalProperties: false };

/** Fields with the same comparisons and the same values. */
interface FieldGroup {
  readonly names: string[];
  readonly type: Pick<FieldType, 'kind' | 'lacks' | 'element'>;
  readonly value: Schema;
}

function groupsOf(fields: readonly FieldPath[]): FieldGroup[] {
  const groups = new Map<string, FieldGroup>();
  for (const { key, type } of fields) {
    const { kind, lacks, element } = type;
    const compared = { kind, ...(lacks && { lacks }), ...(element && { element: { kind: element.kind } }) };
    const { element: value = type } = type;
    const group = { names: [], type: compared, value: FIELD_KINDS[value.kind].operandSchema(value) };
    const text = JSON.stringify(group);
    groups.set(text, groups.get(text) ?? group);
    groups.get(text)!.names.push(key);
  }
  return [...groups.values()];
}

/** Makes the schemas of a field and its values, in the orders that are allowed. */
function operandsOf({ type, value }: FieldGroup, field: Schema): Readonly<Record<OperandKind, Schema[]>> {
  const lookups = lookupsFor(type);
  const isOrdered = lookups.includes('gt');
  const equal = lookups.includes('exact') ? { anyOf: [value, { type: 'null' }] } : { type: 'null' };
  return {
    Equality: [list(field, equal), list(equal, field)],
    Order: isOrdered ? [list(field, value), list(value, field)] : [],
    Between: isOrdered ? [list(field, value), list(value, field), list(value, field, value)] : [],
    Membership: [
      ...(lookups.includes('in') ? [list(field, { type: 'array', items: value })] : []),
      ...(lookups.includes('contains') ? [list(value, field)] : []),
    ],
  };
}

function oneOfSeveral(members: readonly Schema[]): Schema {
  const [first, ...others] = members;
  return first !== undefined && others.length === 0 ? first : { type: 'array', anyOf: members };
}

function variable(names: readonly string[]): Schema {
  return { ...ONE_PROPERTY, properties: { var: { type: 'string', enum: names } } };
}

function list(...items: readonly Schema[]): Schema {
  return { type: 'array', prefixItems: items, minItems: items.length, maxItems: items.length };
}
