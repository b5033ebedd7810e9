import t from 'tap';
import { parseStrictJson, StrictJsonError } from '../../src/support/strict-json.ts';

t.test('parses the same as JSON.parse', async (t) => {
  for (const text of [
    'null',
    '-1.5e3',
    '""',
    '"a:b"',
    String.raw`"\":\\"`,
    '[]',
    '{}',
    '{"a":{"b":[{"c":1},{"c":1}]}}',
    ' { "a" : "x:y\\"z:" } ',
  ]) {
    t.same(parseStrictJson(text), JSON.parse(text), text);
  }
});

t.test('a duplicate key in an object is rejected, at any depth', async (t) => {
  for (const text of [
    '{"a":1,"a":1}',
    '[{"b":{"a":1,"a":2}}]',
    '{"a":1,"\\u0061":2}',
    '{"__proto__":1,"__proto__":2}',
  ]) {
    t.throws(() => parseStrictJson(text), new StrictJsonError('has an object with the same key twice'), text);
  }
});

t.test('a text that is not JSON is rejected', async (t) => {
  for (const text of ['', '{', "{'a':1}", '{a:1}', '[1,]', 'NaN', 'undefined', '01', '{"a":1}{"b":2}', '"\u0001"']) {
    t.throws(() => parseStrictJson(text), StrictJsonError, JSON.stringify(text));
  }
});

t.test('a number that would become Infinity is refused', async (t) => {
  t.throws(() => parseStrictJson('[1e400]'), StrictJsonError);
  t.throws(() => parseStrictJson('{"a":-1e400}'), StrictJsonError);
});

t.test('deep nesting does not overflow the stack', async (t) => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  t.doesNotThrow(() => parseStrictJson(deep));
});
