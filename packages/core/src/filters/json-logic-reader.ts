import type { FieldPath } from '../fields/field-path.ts';
import { nearest } from '../nearest.ts';
import { compare } from '../language/compare.ts';
import { and, not, or, type Condition } from '../language/condition.ts';
import {
  checkComparable,
  checkText,
  checkValue,
  isObject,
  JsonLogicError,
  LOOKUPS,
  readOperands,
  readOperation,
  type ComparisonOperator,
  type OrderOperator,
} from './json-logic-operands.ts';

/** The bounds of a rule. */
export interface JsonLogicLimits {
  readonly maximumDepth: number;
  readonly maximumComparisons: number;
  readonly maximumValues: number;
}

/**
 * Reads one JSON Logic rule into a condition. The grammar is closed: a rule is an object with one operator, a
 * comparison has a field on one side and a value on the other, and everything else is an error.
 *
 * Make one reader a rule; it counts.
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

  /** Reads a field and a value, which may stand either way round. */
  #ordered(operator: OrderOperator, operands: readonly unknown[], at: string): Condition {
    const [left, right] = operands.map((operand, index) => this.#field(operand, `${at}/${index}`));
    const path = left ?? right;
    if (path === undefined || (left !== undefined && right !== undefined)) {
      throw new JsonLogicError('one operand must be a {"var": …} and the other a value', at);
    }
    const place = left === undefined ? 0 : 1;
    const value = operands[place];
    const isEquality = operator === '==' || operator === '!=';
    if (isEquality && value === null) return compare(path, 'isnull', operator === '==');
    return this.#compare(path, operator, place, value, at);
  }

  #between(operator: '<' | '<=', [low, field, high]: readonly unknown[], at: string): Condition {
    const path = this.#field(field, `${at}/1`);
    if (path === undefined) throw new JsonLogicError('the second of three operands must be a {"var": …}', at, field);
    return and(this.#compare(path, operator, 0, low, at), this.#compare(path, operator, 2, high, at));
  }

  #membership(operands: readonly unknown[], at: string): Condition {
    const [left, right] = operands;
    const text = this.#field(right, `${at}/1`);
    if (text !== undefined) return this.#substring(left, text, at);
    const path = this.#field(left, `${at}/0`);
    if (path === undefined) throw new JsonLogicError('one of the two operands must be a {"var": …}', at);
    checkComparable(path, 'in', at);
    const list = readOperands(right, `${at}/1`, 0, Infinity);
    const { maximumValues } = this.#limits;
    if ((this.#values += list.length) > maximumValues) {
      throw new JsonLogicError(`there must not be more than ${maximumValues} values in lists`, `${at}/1`);
    }
    const values = list.map((value, index) => checkValue(path, value, `${at}/1/${index}`));
    return compare(path, 'in', values);
  }

  #substring(needle: unknown, path: FieldPath, at: string): Condition {
    if (path.type.kind !== 'string') throw new JsonLogicError(`"${path.key}" holds no text to search in`, at);
    if (typeof needle !== 'string') throw new JsonLogicError('expected a text to search for', `${at}/0`, needle);
    return compare(path, 'contains', checkText(needle, `${at}/0`));
  }

  /** @param place the place of the value among the operands: 0 if it stands before the field */
  #compare(path: FieldPath, operator: OrderOperator, place: number, value: unknown, at: string): Condition {
    const lookup = LOOKUPS[operator][place === 0 ? 'valueFirst' : 'fieldFirst'];
    checkComparable(path, lookup, at);
    return compare(path, lookup, checkValue(path, value, `${at}/${place}`));
  }

  /** Reads the field that an operand names; undefined if the operand is no object at all. */
  #field(operand: unknown, at: string): FieldPath | undefined {
    if (!isObject(operand)) return undefined;
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
