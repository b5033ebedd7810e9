import t from 'tap';
import { FieldValueError } from '../../src/fields/field-value-error.ts';
import { parseFieldText } from '../../src/fields/field-value.ts';
import type { FieldType } from '../../src/fields/field-kind.ts';

const INT: FieldType = { kind: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
const BIGINT: FieldType = { kind: 'bigint', minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n };

const FITS: [FieldType, string, unknown][] = [
  [{ kind: 'string' }, ' O\'Neil "%_\\ ', ' O\'Neil "%_\\ '],
  [INT, '0', 0],
  [INT, '-2147483648', -2147483648],
  [INT, '2147483647', 2147483647],
  [BIGINT, '9223372036854775807', 9223372036854775807n],
  [BIGINT, '-9223372036854775808', -9223372036854775808n],
  [{ kind: 'number' }, '-1.5e3', -1500],
  [{ kind: 'decimal' }, '10.10', '10.10'],
  [{ kind: 'decimal' }, '99999999999999999999.9999', '99999999999999999999.9999'],
  [{ kind: 'decimal' }, '1e-7', '0.0000001'],
  [{ kind: 'decimal' }, '-2.50E-3', '-0.00250'],
  [{ kind: 'decimal' }, '1.25e1', '12.5'],
  [{ kind: 'decimal' }, '0.1e1', '1'],
  [{ kind: 'decimal' }, '12e+2', '1200'],
  [{ kind: 'boolean' }, 'true', true],
  [{ kind: 'boolean' }, 'false', false],
  [{ kind: 'datetime' }, '2024-02-29T12:00:00.5Z', new Date('2024-02-29T12:00:00.500Z')],
  [{ kind: 'datetime' }, '2024-02-29T12:00:00+02:00', new Date('2024-02-29T10:00:00Z')],
  [{ kind: 'datetime' }, '2024-02-29T12:00:00 02:00', new Date('2024-02-29T10:00:00Z')],
  [{ kind: 'datetime' }, '2024-02-29T12:00:00.123456789-0230', new Date('2024-02-29T14:30:00.123Z')],
  [{ kind: 'datetime' }, '2024-02-29', new Date('2024-02-29T00:00:00Z')],
  [{ kind: 'datetime' }, '2024-02-29 12:00Z', new Date('2024-02-29T12:00:00Z')],
  [{ kind: 'date' }, '2024-02-29', '2024-02-29'],
  [{ kind: 'time' }, '23:59', '23:59:00'],
  [{ kind: 'time' }, '23:59:58', '23:59:58'],
  [{ kind: 'uuid' }, '0E3C5B0A-0000-4000-8000-00000000000F', '0e3c5b0a-0000-4000-8000-00000000000f'],
  [{ kind: 'enum', values: ['a', 'b'] }, 'b', 'b'],
  [{ kind: 'enum', values: [1, 2] }, '2', 2],
];

const DOES_NOT_FIT: [FieldType, string[], RegExp][] = [
  [{ kind: 'string' }, ['a\0b'], /NUL/],
  [{ kind: 'string' }, ['\ud800', 'a\udc00'], /well-formed/],
  [INT, ['', '01', '+1', '1.0', '1e3', ' 1', '-0', '0x1', '1_0', '١'], /must be an integer/],
  [INT, ['2147483648', '-2147483649', '9'.repeat(400)], /between -2147483648 and 2147483647/],
  [BIGINT, ['9223372036854775808', '9'.repeat(1_000_000), '1.5'], /must be an integer/],
  [{ kind: 'number' }, ['', 'NaN', 'Infinity', '1e999', '.', '0x1', '1 '], /must be a number/],
  [
    { kind: 'decimal' },
    ['', '1e', 'e3', '1e1000', '1e99999', 'NaN', '1.', '.5', '9'.repeat(1001)],
    /must be a decimal number/,
  ],
  [{ kind: 'boolean' }, ['', '1', 'TRUE', 'yes'], /true or false/],
  [
    { kind: 'datetime' },
    [
      '',
      'now',
      '2024',
      '2023-02-29',
      '2024-13-01',
      '2024-00-10',
      '0000-01-01',
      '2024-01-01T24:00:00Z',
      '2024-01-01T12:00:00',
      '2024-01-01 12:00',
      '2024-01-01T12:60:00Z',
      '2024-01-01T12:00:00+24:00',
      '0001-01-01T00:00:00+14:00',
      '9999-12-31T23:59:59-14:00',
      '+012024-01-01T00:00:00Z',
      '1704067200000',
    ],
    /must be a date and time/,
  ],
  [
    { kind: 'date' },
    ['', '2023-02-29', '0000-01-01', '2024-1-1', '2024-01-01T00:00:00Z', '10000-01-01'],
    /must be a date/,
  ],
  [{ kind: 'time' }, ['', '24:00', '12:60', '12:00:60', '1:00', 'noon'], /must be a time/],
  [
    { kind: 'uuid' },
    ['', '1', '0e3c5b0a000040008000000000000000', '{0e3c5b0a-0000-4000-8000-000000000000}'],
    /must be a UUID/,
  ],
  [{ kind: 'enum', values: ['a', 'b'] }, ['', 'c', 'A'], /must be one of: a, b/],
  [{ kind: 'json' }, ['{}'], /cannot be compared/],
  [{ kind: 'binary' }, ['00'], /cannot be compared/],
];

t.test('text that fits becomes a value', async (t) => {
  for (const [type, text, value] of FITS) t.strictSame(parseFieldText(type, text), value, `${type.kind} ${text}`);
});

t.test('text that does not fit is rejected with a message that completes a sentence', async (t) => {
  for (const [type, texts, message] of DOES_NOT_FIT) {
    for (const text of texts) {
      const parse = (): unknown => parseFieldText(type, text);
      t.throws(parse, { name: 'FieldValueError', statusCode: 400, message }, `${type.kind} ${text.slice(0, 40)}`);
      t.throws(parse, FieldValueError);
    }
  }
});
