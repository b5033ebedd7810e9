import t from 'tap';
import { isDate, isDateTime, isTime, parseDateTime } from '../../src/schema/formats.ts';

t.test('a moment has a day that exists, a time with seconds, and an offset', async (t) => {
  const moments: [string, string][] = [
    ['2026-02-28T12:00:00Z', '2026-02-28T12:00:00.000Z'],
    ['2024-02-29T23:59:59.1239Z', '2024-02-29T23:59:59.123Z'],
    ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00.000Z'],
    ['2026-01-01T00:30:00-09:30', '2026-01-01T10:00:00.000Z'],
    ['2026-01-01t00:00:00z', '2026-01-01T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999Z'],
  ];
  for (const [text, expected] of moments) t.equal(parseDateTime(text)?.toISOString(), expected, text);
  const others = [
    '',
    '2026-02-28',
    '2026-02-28T12:00Z',
    '2026-02-28T12:00:00',
    '2026-02-28 12:00:00Z',
    '2026-02-30T12:00:00Z',
    '2023-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:59:60Z',
    '2026-1-1T00:00:00Z',
    '2026-01-01T00:00:00+24:00',
    '0000-01-01T00:00:00Z',
    '+010000-01-01T00:00:00Z',
    '2026-01-01T00:00:00.Z',
    '1767225600000',
    '2026-01-01T00:00:00Z\n',
    ' 2026-01-01T00:00:00Z',
    '0001-01-01T00:00:00+23:00',
    '9999-12-31T23:59:59-00:01',
  ];
  for (const text of others) t.notOk(isDateTime(text), JSON.stringify(text));
});

t.test('a date is a day that exists', async (t) => {
  for (const text of ['2026-02-28', '2024-02-29', '0001-01-01', '9999-12-31']) t.ok(isDate(text), text);
  for (const text of ['2026-02-29', '2026-00-10', '2026-04-31', '0000-01-01', '2026-1-1', '2026-01-01T00:00:00Z', '']) {
    t.notOk(isDate(text), text);
  }
});

t.test('a time of day may lack its seconds, and has no more', async (t) => {
  for (const text of ['00:00:00', '23:59:59', '23:59']) t.ok(isTime(text), text);
  for (const text of ['24:00:00', '24:00', '23:60', '23:59:60', '1:00:00', '12:00:00.5', '12:00:00Z', '']) {
    t.notOk(isTime(text), text);
  }
});
