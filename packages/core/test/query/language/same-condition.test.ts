/** Conditions that are written alike are the same, and no others: what one of them finds is given to those who asked the other. */
import t from 'tap';
import { type Condition, isSameCondition } from '../../../src/query/language/condition.ts';

const path = {} as Extract<Condition, { kind: 'compare' }>['path'];
const meta = {} as Extract<Condition, { kind: 'matching' }>['meta'];

const compares = (value: unknown): Condition => ({ kind: 'compare', path, lookup: 'exact', value });
const matches = (where: object): Condition => ({
  kind: 'matching',
  meta,
  steps: [],
  where,
  converted: false,
  isOfColumn: false,
});

/** A value that shows nothing of itself. */
class Sealed {
  readonly #value: number;
  constructor(value: number) {
    this.#value = value;
  }
  get value(): number {
    return this.#value;
  }
}

/** A value that is written as a text, like a key of MongoDB or a decimal. */
class Written extends Sealed {
  override toString(): string {
    return String(this.value);
  }
}

t.test('equal values are the same', async (t) => {
  const pairs: (() => unknown)[] = [
    () => 1,
    () => 'a',
    () => null,
    () => 7n,
    () => new Date(5),
    () => [1, [new Date(2)]],
    () => Buffer.from('ab'),
    () => new Written(3),
  ];
  for (const make of pairs) t.ok(isSameCondition(compares(make()), compares(make())), String(make()));
  const where = () => ({ owner: { $in: [1, 2] }, [Symbol.for('raw')]: new Date(1) });
  t.ok(isSameCondition(matches(where()), matches(where())));
});

t.test('others are not', async (t) => {
  const pairs: [unknown, unknown][] = [
    [1, 2],
    [1, '1'],
    [1, 1n],
    [null, {}],
    [new Date(5), new Date(6)],
    [new Date(5), '5'],
    [[1], [1, 2]],
    [Buffer.from('ab'), Buffer.from('ac')],
    [new Sealed(1), new Sealed(2)],
    [new Written(1), new Written(2)],
  ];
  for (const [one, other] of pairs) {
    t.notOk(isSameCondition(compares(one), compares(other)), `${String(one)} and ${String(other)}`);
    t.notOk(isSameCondition(matches({ owner: { $in: [one] } }), matches({ owner: { $in: [other] } })));
  }
  t.notOk(isSameCondition(matches({ a: 1 }), matches({ b: 1 })));
  t.notOk(isSameCondition(matches({ [Symbol.for('a')]: 1 }), matches({ [Symbol.for('b')]: 1 })));
});
