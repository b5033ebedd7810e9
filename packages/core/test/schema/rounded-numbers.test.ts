import t from 'tap';
import { markRounded } from '../../src/schema/rounded-numbers.ts';

const marked = (text: string): unknown => markRounded(text, JSON.parse(text));

t.test('a whole number that would be rounded becomes a bigint', async (t) => {
  t.strictSame(marked('[9007199254740993,{"a":-9007199254740995}]'), [9007199254740993n, { a: -9007199254740995n }]);
  t.strictSame(marked('123456789012345678901234567890'), 123456789012345678901234567890n);
});

t.test('what JavaScript holds, or writes in the same digits, stays a number', async (t) => {
  for (const text of [
    '9007199254740991',
    '9007199254740992',
    '1152921504606846976',
    '1152921504606847000',
    '10000000000000000000000',
    '1e22',
    '1.2345678901234567e300',
    '0.12345678901234567890',
    '"9007199254740993"',
    '{"9007199254740993":1}',
    '-0',
  ]) {
    t.strictSame(marked(text), JSON.parse(text), text);
  }
});

t.test('a document in which nothing is rounded is the one that was given', async (t) => {
  const document = { a: '1234567890123456' };
  t.equal(markRounded(JSON.stringify(document), document), document);
});
