/** The tree of the texts that are known: what is found in it, and how much it keeps. */
import t from 'tap';
import type { Dialect } from '../../src/backends/sql/dialects/dialect.ts';
import type { Bound } from '../../src/backends/sql/dialects/reader.ts';
import { KnownTexts } from '../../src/backends/sql/known-texts.ts';
import { StatementShape } from '../../src/backends/sql/statement-shape.ts';

const dialect = {} as Dialect;

/** Binds statements of pieces of text, and says which of them were written. */
function binder(): {
  readonly written: string[];
  readonly bind: (pieces: readonly string[], byClient?: boolean) => Bound;
} {
  const texts = new KnownTexts();
  const written: string[] = [];
  const bind = (pieces: readonly string[], byClient = false): Bound => {
    const shape = new StatementShape({ dialect, texts }, 'any', byClient);
    for (const piece of pieces) shape.addText(piece);
    shape.addValues([pieces.length]);
    return shape.bind(() => {
      const sql = pieces.join(' ');
      written.push(sql);
      return { statement: { sql, one: false, isShapedByClient: byClient }, values: [pieces.length] };
    });
  };
  return { written, bind };
}

t.test('a text is written once for its steps', async (t) => {
  const { written, bind } = binder();
  for (const pieces of [['a'], ['a', 'b'], ['a'], ['a', 'b', 'c'], ['a', 'c'], ['a', 'b'], []]) {
    const { statement, values } = bind(pieces);
    t.equal(statement.sql, pieces.join(' '));
    t.strictSame(values, [pieces.length]);
  }
  t.strictSame(written, ['a', 'a b', 'a b c', 'a c', '']);
});

t.test('a text whose writer binds other values is written every time', async (t) => {
  const texts = new KnownTexts();
  let count = 0;
  for (let time = 0; time < 3; time++) {
    const shape = new StatementShape({ dialect, texts }, 'any', false);
    shape.addValues([1, 2]);
    const statement = { sql: 'any', one: false, isShapedByClient: false };
    const bound = shape.bind(() => {
      count++;
      return { statement, values: [2, 1] };
    });
    t.strictSame(bound.values, [2, 1], 'the values are those of the writer');
  }
  t.equal(count, 3);
});

t.test('a long shape is written each time', async (t) => {
  const { written, bind } = binder();
  const long = Array.from({ length: 300 }, (_, index) => `piece ${index}`);
  for (let time = 0; time < 2; time++) bind(long);
  bind(long.slice(0, 10));
  bind(long.slice(0, 10));
  t.equal(written.length, 3);
});

t.test('clients that think of many shapes push out only each other', async (t) => {
  const { written, bind } = binder();
  bind(['own']);
  for (let number = 0; number < 1000; number++) {
    t.equal(bind([`shape ${number}`, 'and more'], true).statement.sql, `shape ${number} and more`);
  }
  t.equal(written.length, 1001);
  bind(['own']);
  t.equal(written.length, 1001, 'that of the view is still there');
  bind(['shape 0', 'and more'], true);
  t.equal(written.length, 1002, 'the first of the clients is not');
  bind(['shape 999', 'and more'], true);
  t.equal(written.length, 1002, 'but the last');
});

t.test('a tree keeps so many steps', async (t) => {
  const { written, bind } = binder();
  const long = (number: number): string[] => Array.from({ length: 150 }, (_, index) => `${number}:${index}`);
  for (let number = 0; number < 100; number++) bind(long(number), true);
  bind(long(99), true);
  t.equal(written.length, 100, 'the last is known');
  bind(long(0), true);
  t.equal(written.length, 101, 'the first is not');
});

t.test('many steps can follow the same one', async (t) => {
  const { written, bind } = binder();
  const ways = Array.from({ length: 50 }, (_, number) => ['shared', `way ${number}`, 'end']);
  for (let time = 0; time < 2; time++) for (const pieces of ways) bind(pieces);
  t.strictSame(
    written,
    ways.map((pieces) => pieces.join(' ')),
  );
});
