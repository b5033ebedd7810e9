import type { FieldPath } from '../fields/field-path.ts';
import { checkFieldJson, FieldValueError } from '../fields/field-value.ts';
import { lookupsFor, type Lookup } from '../language/lookup.ts';

/** A rule that cannot be used: the message says what was expected, what came, and where, by a JSON pointer. */
export class JsonLogicError extends Error {
  override readonly name = 'JsonLogicError';

  /** @param at JSON pointer within the rule; @param came what stood there, if that helps */
  constructor(expected: string, at: string, ...came: [unknown?]) {
    const got = came.length === 0 ? '' : `, but ${describeJson(came[0])} came`;
    super(at === '' ? `${expected}${got}` : `${expected}${got}, at ${at}`);
  }
}

/** The lookup of an operator between a field and a value, which may stand either way round. */
export const LOOKUPS = {
  '==': { fieldFirst: 'exact', valueFirst: 'exact' },
  '!=': { fieldFirst: 'ne', valueFirst: 'ne' },
  '<': { fieldFirst: 'lt', valueFirst: 'gt' },
  '<=': { fieldFirst: 'lte', valueFirst: 'gte' },
  '>': { fieldFirst: 'gt', valueFirst: 'lt' },
  '>=': { fieldFirst: 'gte', valueFirst: 'lte' },
} as const;

export type OrderOperator = keyof typeof LOOKUPS;
export type ComparisonOperator = OrderOperator | 'in';
type Operator = ComparisonOperator | 'and' | 'or' | '!';

const OPERATORS: readonly string[] = [...Object.keys(LOOKUPS), 'in', 'and', 'or', '!'];

/**
 * Reads the one operator of a rule, and its operand.
 * @throws JsonLogicError if the rule is anything but an object with one known operator
 */
export function readOperation(rule: unknown, at: string): [Operator, unknown] {
  const entries = isObject(rule) ? Object.entries(rule) : [];
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) {
    throw new JsonLogicError('expected an object with one operator', at, rule);
  }
  const [operator, operand] = entry;
  if (!OPERATORS.includes(operator)) {
    throw new JsonLogicError(`expected one of the operators ${OPERATORS.join(' ')}`, at, operator);
  }
  return [operator as Operator, operand];
}

/** @throws JsonLogicError if an operand is anything but a list of `least` to `most` */
export function readOperands(operand: unknown, at: string, least: number, most: number): readonly unknown[] {
  if (Array.isArray(operand) && operand.length >= least && operand.length <= most) return operand;
  const upTo = most === Infinity ? ' or more' : most > least ? ` to ${most}` : '';
  throw new JsonLogicError(`expected a list of ${least}${upTo}`, at, operand);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws JsonLogicError if a field's type does not know this kind of comparison */
export function checkComparable(path: FieldPath, lookup: Lookup, at: string): void {
  if (lookupsFor(path.type.kind).includes(lookup)) return;
  throw new JsonLogicError(`"${path.key}" is of type ${path.type.kind}, which cannot be compared in this way`, at);
}

/** Reads the value to compare a field with, of the field's own type. */
export function checkValue(path: FieldPath, json: unknown, at: string): unknown {
  if (json === null) throw new JsonLogicError('only == and != compare with null', at);
  if (typeof json === 'object') throw new JsonLogicError(`expected a value to compare "${path.key}" with`, at, json);
  if (typeof json === 'string') checkText(json, at);
  try {
    return checkFieldJson(path.type, json);
  } catch (error) {
    if (!(error instanceof FieldValueError)) throw error;
    throw new JsonLogicError(`"${path.key}" ${error.message}`, at, json);
  }
}

/** Refuses what the escapes of JSON can say and no query string may, see QueryParameters. */
export function checkText(text: string, at: string): string {
  if (text.includes('\0')) throw new JsonLogicError('a text must not contain a NUL character', at);
  if (!text.isWellFormed()) throw new JsonLogicError('a text must be well-formed Unicode', at);
  return text;
}

/** Characters of a client's text that a message repeats. */
const MAX_ECHO = 64;

function describeJson(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'string') return JSON.stringify(shorten(value));
  if (typeof value === 'object' && value !== null) return describeKeys(Object.keys(value));
  return String(value);
}

function describeKeys(keys: readonly string[]): string {
  const shown = keys.slice(0, 3).map((key) => JSON.stringify(shorten(key)));
  return keys.length === 0 ? 'an empty object' : `an object with ${shown.join(', ')}${keys.length > 3 ? ', …' : ''}`;
}

function shorten(text: string): string {
  return text.length > MAX_ECHO ? `${text.slice(0, MAX_ECHO)}…` : text;
}
