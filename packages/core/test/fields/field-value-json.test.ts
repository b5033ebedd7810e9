import t from 'tap';
import { checkFieldJson } from '../../src/fields/field-value.ts';
import type { FieldType } from '../../src/fields/field-kind.ts';

const INT: FieldType = { kind: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
const BIGINT: FieldType = { kind: 'bigint', minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n };

const FITS: [FieldType, unknown, unknown][] = [
  [{ kind: 'string' }, '12', '12'],
  [INT, 12, 12],
  [INT, -0, 0],
  [{ ...BIGINT, mode: 'bigint' }, 12, 12n],
  [{ ...BIGINT, mode: 'bigint' }, '9223372036854775807', 9223372036854775807n],
  [{ kind: 'number' }, 1.5, 1.5],
  [{ kind: 'decimal', mode: 'number' }, 10.1, 10.1],
  [{ kind: 'decimal', mode: 'string' }, '10.10', '10.10'],
  [{ kind: 'boolean' }, false, false],
  [{ kind: 'datetime' }, '2024-01-01T00:00:00Z', new Date('2024-01-01T00:00:00Z')],
  [{ kind: 'date' }, '2024-01-01', '2024-01-01'],
  [{ kind: 'enum', values: [1, 2] }, 2, 2],
];

const DOES_NOT_FIT: [FieldType, unknown[]][] = [
  [{ kind: 'string' }, [1, true, null, [], {}, 'a\0', '\ud800']],
  [INT, ['12', 1.5, 2 ** 31, 1e400, true, null, [1]]],
  [{ ...BIGINT, mode: 'number' }, ['12', 2 ** 53, 1.5]],
  [{ ...BIGINT, mode: 'bigint' }, ['9223372036854775808', '1.0', 2 ** 53]],
  [{ kind: 'number' }, ['1.5', 1e400, true]],
  [{ kind: 'decimal', mode: 'number' }, ['10.10', true, 1e400]],
  [{ kind: 'decimal', mode: 'string' }, ['1e3', true]],
  [{ kind: 'boolean' }, ['true', 1, 0]],
  [{ kind: 'datetime' }, [1704067200000, '2024-13-01', true]],
  [{ kind: 'date' }, [20240101, '2023-02-29']],
  [{ kind: 'time' }, [12, '25:00']],
  [{ kind: 'uuid' }, [1, 'x']],
  [{ kind: 'enum', values: [1, 2] }, ['2', 3]],
  [{ kind: 'json' }, [{}, 1, 'x']],
  [{ kind: 'binary' }, ['00']],
];

t.test('a JSON value of the type of the field becomes a value', async (t) => {
  for (const [type, json, value] of FITS) {
    t.strictSame(checkFieldJson(type, json), value, `${type.kind} ${String(json)}`);
  }
  t.ok(Object.is(checkFieldJson(INT, -0), 0), 'there is no negative zero among integers');
});

t.test('a JSON value of another type is refused: nothing is coerced', async (t) => {
  for (const [type, values] of DOES_NOT_FIT) {
    for (const json of values) {
      t.throws(() => checkFieldJson(type, json), { name: 'FieldValueError' }, `${type.kind} ${JSON.stringify(json)}`);
    }
  }
});
