import * as fc from 'fast-check';
import { price, type Product, productName, stock, word } from './product.ts';

/** A condition in JSON Logic, and the documented result. */
export interface Logic {
  readonly json: unknown;
  readonly keeps: (product: Product) => boolean;
  readonly depth: number;
  readonly comparisons: number;
  /** It contains a part that must be rejected. */
  readonly isWrong: boolean;
}

const MAX_DEPTH = 5;
const MAX_COMPARISONS = 50;

type Field = keyof Product;
type Value = string | number;
const OPERATORS = {
  '==': (a: Value, b: Value) => a === b,
  '!=': (a: Value, b: Value) => a !== b,
  '<': (a: Value, b: Value) => a < b,
  '<=': (a: Value, b: Value) => a <= b,
  '>': (a: Value, b: Value) => a > b,
  '>=': (a: Value, b: Value) => a >= b,
};
type Operator = keyof typeof OPERATORS;

/** Text is ordered by the rules of the database, which are not documented: the model compares it for equality only. */
const comparison = fc.oneof(
  fc.record({ field: fc.constant('name' as const), operator: fc.constantFrom('==', '!='), value: productName }),
  fc.record({ field: fc.constantFrom('id', 'stock'), operator: operatorOf(), value: stock }),
  fc.record({ field: fc.constant('price' as const), operator: operatorOf(), value: price }),
);

function operatorOf() {
  return fc.constantFrom(...(Object.keys(OPERATORS) as Operator[]));
}

const compared = fc.tuple(comparison, fc.boolean()).map(([{ field, operator, value }, isReversed]): Logic => {
  const compare = OPERATORS[operator];
  const json = { [operator]: isReversed ? [value, { var: field }] : [{ var: field }, value] };
  return leaf(json, (product) =>
    isReversed ? compare(value, product[field as Field]) : compare(product[field as Field], value),
  );
});

const between = fc.tuple(fc.constantFrom('<' as const, '<=' as const), stock, stock).map(([operator, low, high]) =>
  leaf({ [operator]: [low, { var: 'stock' }, high] }, (product) => {
    const compare = OPERATORS[operator];
    return compare(low, product.stock) && compare(product.stock, high);
  }),
);

const oneOf = fc
  .array(fc.oneof(fc.constantFrom(0, 1, 2, 3), stock), { maxLength: 6 })
  .map((values) => leaf({ in: [{ var: 'stock' }, values] }, (product) => values.includes(product.stock)));

const contains = word.map((part) => leaf({ in: [part, { var: 'name' }] }, (product) => product.name.includes(part)));

const isNull = fc
  .constantFrom('==' as const, '!=' as const)
  .map((operator) => leaf({ [operator]: [{ var: 'price' }, null] }, () => operator === '!='));

const wrong = fc
  .constantFrom<unknown>(
    { '==': [{ var: 'nmae' }, 'a'] },
    { '==': [{ var: '__proto__' }, 'a'] },
    { '==': [{ var: 'stock' }, '1'] },
    { '==': [{ var: 'stock' }, 1.5] },
    { '==': [{ var: 'stock' }, 2 ** 31] },
    { '==': [{ var: 'name' }, 1] },
    { '==': [{ var: 'name' }, 'a\0'] },
    { '<': [{ var: 'price' }, null] },
    { '<': [{ var: 'price' }, true] },
    { in: [{ var: 'name' }, ['a', 1]] },
    { in: [1, { var: 'name' }] },
    { '==': [1, 1] },
    { xor: [{ var: 'name' }, 'a'] },
    { and: [] },
    { '==': [{ var: 'name' }, 'a'], '!=': [{ var: 'name' }, 'b'] },
    true,
    null,
    [],
    {},
  )
  .map((json): Logic => ({ ...leaf(json, () => false), isWrong: true }));

function leaf(json: unknown, keeps: (product: Product) => boolean): Logic {
  return { json, keeps, depth: 1, comparisons: 1, isWrong: false };
}

function combined(operator: string, parts: readonly Logic[], keeps: (product: Product) => boolean): Logic {
  return {
    json: { [operator]: parts.map(({ json }) => json) },
    keeps,
    depth: 1 + Math.max(...parts.map(({ depth }) => depth)),
    comparisons: parts.reduce((sum, { comparisons }) => sum + comparisons, 0),
    isWrong: parts.some(({ isWrong }) => isWrong),
  };
}

const { tree } = fc.letrec<{ tree: Logic; node: Logic }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, depthSize: 'medium' },
    { weight: 3, arbitrary: leaves() },
    { weight: 2, arbitrary: tie('node') },
  ),
  node: fc.oneof(
    fc
      .array(tie('tree'), { minLength: 1, maxLength: 4 })
      .map((parts) => combined('and', parts, (product) => parts.every(({ keeps }) => keeps(product)))),
    fc
      .array(tie('tree'), { minLength: 1, maxLength: 4 })
      .map((parts) => combined('or', parts, (product) => parts.some(({ keeps }) => keeps(product)))),
    tie('tree').map((part) => combined('!', [part], (product) => !part.keeps(product))),
  ),
}));

function leaves() {
  return fc.oneof({ weight: 12, arbitrary: compared }, between, oneOf, contains, isNull, wrong);
}

/** Conditions of every form; conditions that are nested too deeply or have too many comparisons are invalid. */
export const jsonLogic = tree.map((logic): Logic => ({
  ...logic,
  isWrong: logic.isWrong || logic.depth > MAX_DEPTH || logic.comparisons > MAX_COMPARISONS,
}));
