import type { FieldKind } from '../fields/field-kind.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { FieldValueError } from '../fields/field-value-error.ts';
import { checkFieldJson, parseFieldText } from '../fields/field-value.ts';
import { isRecord, textProblem } from '../support/json.ts';
import { roundedIn } from '../support/rounded-numbers.ts';
import { compare, elementPath } from '../query/language/compare.ts';
import { and, not, or, type Condition } from '../query/language/condition.ts';
import { lookupsFor, type Lookup } from '../query/language/lookup.ts';
import { nearest } from '../errors/nearest.ts';
import { echo } from '../http/parameters.ts';

/** An invalid rule. The message says what was expected, what was received, and where, as a JSON pointer. */
export class JsonLogicError extends Error {
  override readonly name = 'JsonLogicError';

  /** @param at JSON pointer within the rule; @param received the value found there, if it helps */
  constructor(expected: string, at: string, ...received: [unknown?]) {
    const got = received.length === 0 ? '' : `, got ${describeJson(received[0])}`;
    super(at === '' ? `${expected}${got}` : `${expected}${got}, at ${at}`);
  }
}

/** The lookup of an operator for a field and a value, in either order. */
const LOOKUPS = {
  '==': { fieldFirst: 'exact', valueFirst: 'exact' },
  '!=': { fieldFirst: 'ne', valueFirst: 'ne' },
  '<': { fieldFirst: 'lt', valueFirst: 'gt' },
  '<=': { fieldFirst: 'lte', valueFirst: 'gte' },
  '>': { fieldFirst: 'gt', valueFirst: 'lt' },
  '>=': { fieldFirst: 'gte', valueFirst: 'lte' },
} as const;

type OrderOperator = keyof typeof LOOKUPS;
type ComparisonOperator = OrderOperator | 'in';
type Operator = ComparisonOperator | 'and' | 'or' | '!';

const OPERATORS: readonly string[] = [...Object.keys(LOOKUPS), 'in', 'and', 'or', '!'];

/** The limits of a rule. */
export interface JsonLogicLimits {
  readonly maximumDepth: number;
  readonly maximumComparisons: number;
  readonly maximumValues: number;
}

/**
 * Reads one JSON Logic rule into a condition. The grammar is closed. A rule is an object with one operator. A
 * comparison has a field on one side and a value on the other side. Everything else is an error.
 *
 * Make one reader for each rule, because it counts.
 */
export class JsonLogicReader {
  readonly #fields: ReadonlyMap<string, FieldPath>;
  readonly #limits: JsonLogicLimits;
  #comparisons = 0;
  #values = 0;

  constructor(fields: ReadonlyMap<string, FieldPath>, limits: JsonLogicLimits) {
    this.#fields = fields;
    this.#limits = limits;
  }

  /** @throws JsonLogicError */
  read(rule: unknown): Condition {
    return this.#rule(rule, '', 1);
  }

  #rule(rule: unknown, at: string, depth: number): Condition {
    const [operator, operand] = readOperation(rule, at);
    const here = `${at}/${operator}`;
    const { maximumDepth } = this.#limits;
    if (depth > maximumDepth) {
      throw new JsonLogicError(`operators must not be nested more than ${maximumDepth} deep`, here);
    }
    if (operator === 'and') return and(...this.#rules(operand, here, depth));
    if (operator === 'or') return or(...this.#rules(operand, here, depth));
    if (operator === '!') {
      const negated = Array.isArray(operand) ? readOperands(operand, here, 1, 1)[0] : operand;
      return not(this.#rule(negated, here, depth + 1));
    }
    return this.#comparison(operator, operand, here);
  }

  #rules(operand: unknown, at: string, depth: number): Condition[] {
    const rules = readOperands(operand, at, 1, Infinity);
    return rules.map((rule, index) => this.#rule(rule, `${at}/${index}`, depth + 1));
  }

  #comparison(operator: ComparisonOperator, operand: unknown, at: string): Condition {
    const { maximumComparisons } = this.#limits;
    if (++this.#comparisons > maximumComparisons) {
      throw new JsonLogicError(`there must not be more than ${maximumComparisons} comparisons`, at);
    }
    const mayBeBetween = operator === '<' || operator === '<=';
    const operands = readOperands(operand, at, 2, mayBeBetween ? 3 : 2);
    if (operator === 'in') return this.#membership(operands, at);
    return mayBeBetween && operands.length === 3
      ? this.#between(operator, operands, at)
      : this.#ordered(operator, operands, at);
  }

  /** Reads a field and a value, in either order. */
  #ordered(operator: OrderOperator, operands: readonly unknown[], at: string): Condition {
    const [left, right] = operands.map((operand, index) => this.#field(operand, `${at}/${index}`));
    const path = left ?? right;
    if (path === undefined || (left !== undefined && right !== undefined)) {
      throw new JsonLogicError('one operand must be a {"var": …} and the other a value', at);
    }
    const place = left === undefined ? 0 : 1;
    const isEquality = operator === '==' || operator === '!=';
    if (isEquality && operands[place] === null) return compare(path, 'isnull', operator === '==');
    return this.#compare(path, operator, operands, place, at);
  }

  #between(operator: '<' | '<=', operands: readonly unknown[], at: string): Condition {
    const field = operands[1];
    const path = this.#field(field, `${at}/1`);
    if (path === undefined) throw new JsonLogicError('the second of three operands must be a {"var": …}', at, field);
    return and(this.#compare(path, operator, operands, 0, at), this.#compare(path, operator, operands, 2, at));
  }

  #membership(operands: readonly unknown[], at: string): Condition {
    const [left, right] = operands;
    const text = this.#field(right, `${at}/1`);
    if (text !== undefined) return this.#substring(operands, text, at);
    const path = this.#field(left, `${at}/0`);
    if (path === undefined) throw new JsonLogicError('one of the two operands must be a {"var": …}', at);
    checkComparable(path, 'in', at);
    const list = readOperands(right, `${at}/1`, 0, Infinity);
    const { maximumValues } = this.#limits;
    if ((this.#values += list.length) > maximumValues) {
      throw new JsonLogicError(`there must not be more than ${maximumValues} values in lists`, `${at}/1`);
    }
    const values = list.map((_value, index) => checkValue(path, list, index, `${at}/1`));
    return compare(path, 'in', values);
  }

  #substring(operands: readonly unknown[], path: FieldPath, at: string): Condition {
    const [needle] = operands;
    const hasText = lookupsFor(path.type).includes('contains');
    if (!hasText) throw new JsonLogicError(`"${path.key}" holds no text to search in, and no list`, at);
    const element = elementPath(path);
    if (element !== undefined) return compare(path, 'contains', [checkValue(element, operands, 0, at)]);
    if (typeof needle !== 'string') throw new JsonLogicError('expected a text to search for', `${at}/0`, needle);
    return compare(path, 'contains', checkText(needle, `${at}/0`));
  }

  /** @param place the position of the value among the operands: 0 if it precedes the field */
  #compare(
    path: FieldPath,
    operator: OrderOperator,
    operands: readonly unknown[],
    place: number,
    at: string,
  ): Condition {
    const lookup = LOOKUPS[operator][place === 0 ? 'valueFirst' : 'fieldFirst'];
    checkComparable(path, lookup, at);
    return compare(path, lookup, checkValue(path, operands, place, at));
  }

  /** Reads the field that an operand names; undefined if the operand is not an object. */
  #field(operand: unknown, at: string): FieldPath | undefined {
    if (!isRecord(operand)) return undefined;
    const keys = Object.keys(operand);
    if (keys.length !== 1 || keys[0] !== 'var') {
      throw new JsonLogicError('expected a value or a {"var": …}', at, operand);
    }
    const name = operand['var'];
    if (typeof name !== 'string') throw new JsonLogicError('expected the name of a field', `${at}/var`, name);
    const path = this.#fields.get(name);
    if (path !== undefined) return path;
    const meant = nearest(name, this.#fields.keys());
    const hint = meant === undefined ? '' : `did you mean "${meant}"? `;
    const allowed = [...this.#fields.keys()].join(', ');
    throw new JsonLogicError(
      `expected a field that may be filtered by (${hint}allowed: ${allowed})`,
      `${at}/var`,
      name,
    );
  }
}

/**
 * Reads the single operator of a rule, and its operand.
 * @throws JsonLogicError unless the rule is an object with one known operator
 */
function readOperation(rule: unknown, at: string): [Operator, unknown] {
  const entries = isRecord(rule) ? Object.entries(rule) : [];
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

/** @throws JsonLogicError unless the operand is a list of `least` to `most` */
function readOperands(operand: unknown, at: string, least: number, most: number): readonly unknown[] {
  if (Array.isArray(operand) && operand.length >= least && operand.length <= most) return operand;
  const upTo = most === Infinity ? ' or more' : most > least ? ` to ${most}` : '';
  throw new JsonLogicError(`expected a list of ${least}${upTo}`, at, operand);
}

/** @throws JsonLogicError if the field's type does not support this kind of comparison */
function checkComparable(path: FieldPath, lookup: Lookup, at: string): void {
  if (lookupsFor(path.type).includes(lookup)) return;
  throw new JsonLogicError(`"${path.key}" is of type ${path.type.kind}, which cannot be compared in this way`, at);
}

/**
 * Reads the value to compare with a field, in the type of the field. A number that JavaScript rounds is compared by its
 * digits, as in a query string.
 */
function checkValue(path: FieldPath, list: readonly unknown[], index: number, listAt: string): unknown {
  const json = list[index];
  const at = `${listAt}/${index}`;
  if (json === null) throw new JsonLogicError('only == and != compare with null', at);
  if (typeof json === 'object') throw new JsonLogicError(`expected a value to compare "${path.key}" with`, at, json);
  if (typeof json === 'string') checkText(json, at);
  try {
    const digits = NUMERIC.has(path.type.kind) ? roundedIn(list)?.get(String(index)) : undefined;
    return digits === undefined ? checkFieldJson(path.type, json) : parseFieldText(path.type, digits);
  } catch (error) {
    if (!(error instanceof FieldValueError)) throw error;
    throw new JsonLogicError(`"${path.key}" ${error.message}`, at, json);
  }
}

const NUMERIC: ReadonlySet<FieldKind> = new Set(['integer', 'bigint', 'number', 'decimal']);

/** Rejects characters that JSON can escape but a query string must not contain, see QueryParameters. */
function checkText(text: string, at: string): string {
  const problem = textProblem(text);
  if (problem !== undefined) throw new JsonLogicError(`a text ${problem}`, at);
  return text;
}

function describeJson(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'string') return JSON.stringify(echo(value));
  if (typeof value === 'object' && value !== null) return describeKeys(Object.keys(value));
  return String(value);
}

function describeKeys(keys: readonly string[]): string {
  const shown = keys.slice(0, 3).map((key) => JSON.stringify(echo(key)));
  return keys.length === 0 ? 'an empty object' : `an object with ${shown.join(', ')}${keys.length > 3 ? ', …' : ''}`;
}
