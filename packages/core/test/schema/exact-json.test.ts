/** JSON that keeps the digits of its numbers. */
import t from 'tap';
import { exactJson } from '../../src/index.ts';

t.test('numbers keep the digits that were sent', async (t) => {
  for (const text of [
    '{"a":12345678901234.1234,"b":[0.12345678901234567890,{"c":1.2345678901234561234e13}],"d":1.5,"e":"x"}',
    '[null,true,{"":0.12345678901234567890}]',
  ]) {
    t.equal(exactJson.stringify(exactJson.parse(text)), text);
  }
  t.equal(exactJson.stringify(exactJson.parse('1.50')), '1.5');
  t.equal(exactJson.stringify(exactJson.parse('[0.10000000000000001]')), '[0.10000000000000001]');
});

t.test('a copy keeps them, until a member is replaced', async (t) => {
  const parsed = exactJson.parse('{"a":12345678901234.1234,"b":12345678901234.1234}') as { a: number; b: number };
  const copy = exactJson.copy(parsed, { ...parsed, b: 'text' });
  t.equal(exactJson.stringify(copy), '{"a":12345678901234.1234,"b":"text"}');
  t.equal(exactJson.textOf(copy, 'a'), '12345678901234.1234');
  t.equal(exactJson.textOf(copy, 'c'), undefined);
  t.equal(exactJson.stringify({ ...parsed }), '{"a":12345678901234.123,"b":12345678901234.123}');
});

t.test('a whole number that would be rounded is a bigint', async (t) => {
  t.strictSame(exactJson.parse('[9007199254740993,9007199254740992]'), [9007199254740993n, 9007199254740992]);
  t.throws(() => exactJson.parse('{'), SyntaxError);
});
