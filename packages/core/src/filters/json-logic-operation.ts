import { JsonLogicError } from './json-logic-error.ts';

/** The operators that put a field in relation to one value or two. */
export type OrderOperator = '<' | '<=' | '>' | '>=';
export type ComparisonOperator = OrderOperator | '==' | '!=' | 'in';
export type Operator = ComparisonOperator | 'and' | 'or' | '!';

const OPERATORS: readonly string[] = ['==', '!=', '<', '<=', '>', '>=', 'in', 'and', 'or', '!'] satisfies Operator[];

/**
 * The one operator of a rule, and its operand.
 * @throws JsonLogicError where the rule is anything but an object with one known operator
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

/**
 * A list of operands of a given length.
 * @throws JsonLogicError where it is not a list, shorter or longer
 */
export function readOperands(operand: unknown, at: string, least: number, most: number): readonly unknown[] {
  if (Array.isArray(operand) && operand.length >= least && operand.length <= most) return operand;
  const upTo = most === Infinity ? ' or more' : most > least ? ` to ${most}` : '';
  throw new JsonLogicError(`expected a list of ${least}${upTo}`, at, operand);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
