import type { FieldPath } from '../fields/field-path.ts';
import { and, compare, never, not, or, type Condition } from '../query/condition.ts';
import type { Lookup } from '../query/lookup.ts';
import { checkComparable, checkValue } from './json-logic-value.ts';
import { JsonLogicError } from './json-logic-error.ts';
import { nearest } from '../nearest.ts';

/**
 * Reads one JSON Logic rule into a condition. The grammar is closed: a rule is an object with one operator, a
 * comparison has a field on one side and a value on the other, and everything else is an error.
 *
 * Make one reader a rule; it counts.
 */
export class JsonLogicReader {
  readonly #fields: ReadonlyMap<string, FieldPath>;
  readonly #maximumDepth: number;
  readonly #maximumComparisons: number;
  #comparisons = 0;

  constructor(fields: ReadonlyMap<string, FieldPath>, maximumDepth: number, maximumComparisons: number) {
    this.#fields = fields;
    this.#maximumDepth = maximumDepth;
    this.#maximumComparisons = maximumComparisons;
  }

  /** @throws JsonLogicError */
  read(rule: unknown): Condition {
    return this.#rule(rule, '', 1);
  }

  #rule(rule: unknown, at: string, depth: number): Condition {
    const [operator, operand] = readOperation(rule, at);
    const here = `${at}/${operator}`;
    if (depth > this.#maximumDepth) {
      throw new JsonLogicError(`operators must not be nested more than ${this.#maximumDepth} deep`, here);
    }
    switch (operator) {
      case 'and':
        return and(...this.#rules(operand, here, depth));
      case 'or':
        return or(...this.#rules(operand, here, depth));
      case '!':
        return not(this.#rule(Array.isArray(operand) ? only(operand, here) : operand, here, depth + 1));
      default:
        return this.#comparison(operator, operand, here);
    }
  }

  #rules(operand: unknown, at: string, depth: number): Condition[] {
    const operands = readList(operand, at, 'a list of one rule or more', (length) => length >= 1);
    return operands.map((rule, index) => this.#rule(rule, `${at}/${index}`, depth + 1));
  }

  #comparison(operator: Comparison, operand: unknown, at: string): Condition {
    if (++this.#comparisons > this.#maximumComparisons) {
      throw new JsonLogicError(`there must not be more than ${this.#maximumComparisons} comparisons`, at);
    }
    if (operator === '<' || operator === '<=') {
      const operands = readList(operand, at, 'a list of two or three operands', (length) => length === 2 || length === 3);
      return operands.length === 3 ? this.#between(operator, operands, at) : this.#ordered(operator, operands, at);
    }
    const operands = readList(operand, at, 'a list of two operands', (length) => length === 2);
    if (operator === 'in') return this.#membership(operands, at);
    return operator === '==' || operator === '!=' ? this.#equality(operator, operands, at) : this.#ordered(operator, operands, at);
  }

  #equality(operator: '==' | '!=', operands: readonly unknown[], at: string): Condition {
    const { path, value } = this.#sides(operands, at);
    // Not the `ne` lookup: `!=` is the opposite of `==` of every record, those with NULL included.
    const equal = value === null ? compare(path, 'isnull', true) : this.#compare(path, 'exact', value, at);
    return operator === '==' ? equal : not(equal);
  }

  #ordered(operator: Ordered, operands: readonly unknown[], at: string): Condition {
    const { path, value, flipped } = this.#sides(operands, at);
    return this.#compare(path, flipped ? FLIPPED[operator] : ORDERED[operator], value, at);
  }

  #between(operator: '<' | '<=', operands: readonly unknown[], at: string): Condition {
    const [low, field, high] = operands;
    const path = this.#field(field, `${at}/1`);
    if (path === undefined) throw new JsonLogicError('the middle one of three operands must be a {"var": …}', at);
    return and(this.#compare(path, FLIPPED[operator], low, at), this.#compare(path, ORDERED[operator], high, at));
  }

  #membership(operands: readonly unknown[], at: string): Condition {
    const [left, right] = operands;
    const text = this.#field(right, `${at}/1`);
    if (text !== undefined) {
      if (text.type.kind !== 'string') throw new JsonLogicError(`"${text.key}" holds no text to search in`, at);
      if (typeof left !== 'string') throw new JsonLogicError(`a text to find in "${text.key}" must stand on the left`, at, left);
      return this.#compare(text, 'contains', left, at);
    }
    const path = this.#field(left, `${at}/0`);
    if (path === undefined) throw new JsonLogicError('one of the two operands must be a {"var": …}', at);
    const list = readList(right, `${at}/1`, 'a list of values, or a field that holds text', () => true);
    checkComparable(path, 'in', at);
    const values = list.map((value, index) => checkValue(path, value, `${at}/1/${index}`));
    return values.length === 0 ? never : compare(path, 'in', values);
  }

  #compare(path: FieldPath, lookup: Lookup, value: unknown, at: string): Condition {
    checkComparable(path, lookup, at);
    return compare(path, lookup, checkValue(path, value, at));
  }

  /** The field and the value of a comparison, which may stand either way round. */
  #sides(operands: readonly unknown[], at: string): { path: FieldPath; value: unknown; flipped: boolean } {
    const left = this.#field(operands[0], `${at}/0`);
    const right = this.#field(operands[1], `${at}/1`);
    if (left !== undefined && right === undefined) return { path: left, value: operands[1], flipped: false };
    if (right !== undefined && left === undefined) return { path: right, value: operands[0], flipped: true };
    throw new JsonLogicError('one operand must be a {"var": …} and the other a value', at);
  }

  /** The field that an operand names, or undefined where it is something else. */
  #field(operand: unknown, at: string): FieldPath | undefined {
    if (!isObject(operand)) return undefined;
    const keys = Object.keys(operand);
    if (keys.length !== 1 || keys[0] !== 'var') throw new JsonLogicError('expected a value or a {"var": …}', at, operand);
    const name = operand['var'];
    if (typeof name !== 'string') throw new JsonLogicError('the name of a field must be a string', `${at}/var`, name);
    const path = this.#fields.get(name);
    if (path === undefined) throw this.#notAllowed(name, `${at}/var`);
    return path;
  }

  #notAllowed(name: string, at: string): JsonLogicError {
    const meant = nearest(name, this.#fields.keys());
    const hint = meant === undefined ? '' : `did you mean "${meant}"? `;
    return new JsonLogicError(`expected a field that may be filtered by (${hint}allowed: ${[...this.#fields.keys()].join(', ')})`, at, name);
  }
}

const ORDERED = { '<': 'lt', '<=': 'lte', '>': 'gt', '>=': 'gte' } as const;
/** What each becomes when the value stands on the left. */
const FLIPPED = { '<': 'gt', '<=': 'gte', '>': 'lt', '>=': 'lte' } as const;

type Ordered = keyof typeof ORDERED;
type Comparison = Ordered | '==' | '!=' | 'in';
type Operator = Comparison | 'and' | 'or' | '!';

const OPERATORS: readonly string[] = ['==', '!=', '<', '<=', '>', '>=', 'in', 'and', 'or', '!'] satisfies Operator[];

function readOperation(rule: unknown, at: string): [Operator, unknown] {
  const [entry, ...more] = isObject(rule) ? Object.entries(rule) : [];
  if (entry === undefined || more.length > 0) throw new JsonLogicError('expected an object with one operator', at, rule);
  const [operator, operand] = entry;
  if (!OPERATORS.includes(operator)) {
    throw new JsonLogicError(`expected one of the operators ${OPERATORS.join(' ')}`, at, operator);
  }
  return [operator as Operator, operand];
}

function readList(value: unknown, at: string, expected: string, fits: (length: number) => boolean): readonly unknown[] {
  if (!Array.isArray(value) || !fits(value.length)) throw new JsonLogicError(`expected ${expected}`, at, value);
  return value;
}

function only(operands: readonly unknown[], at: string): unknown {
  return readList(operands, at, 'one rule', (length) => length === 1)[0];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
