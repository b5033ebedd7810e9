import { randomBytes, randomUUID } from 'node:crypto';
import type { EntityMetadata } from '@mikro-orm/core';
import { type FieldKind, fieldPath, type FieldType } from '@viewset/core';

const START_MS = Date.UTC(2020, 0, 1);
const DAY_MS = 86_400_000;

/** Makes a value that fits a column. Different numbers give different values, as far as the type allows. */
export function uniqueValue(meta: EntityMetadata, name: string, number: number): unknown {
  const { type } = fieldPath(meta, name, '.');
  return VALUES[type.kind](number, type, name);
}

/** Makes a text for a field; an e-mail address if the field's name asks for one. */
export function uniqueText(number: number, name: string, maxLength = Infinity): string {
  const text = /e_?mail/i.test(name) ? `user${number}@example.com` : `${name} ${number}`;
  return text.length <= maxLength ? text : String(number).slice(-maxLength);
}

/** Makes a moment for a number, one second later for each next number. */
export function uniqueMoment(number: number): Date {
  return new Date(START_MS + number * 1000);
}

/** Makes a day for a number, such as `2020-01-02`. */
export function uniqueDay(number: number): string {
  return new Date(START_MS + number * DAY_MS).toISOString().slice(0, 10);
}

/** Makes a time of day for a number, such as `00:00:07`. */
export function uniqueTime(number: number): string {
  return uniqueMoment(number % 86_400)
    .toISOString()
    .slice(11, 19);
}

type MakeValue = (number: number, type: FieldType, name: string) => unknown;

const VALUES: Readonly<Record<FieldKind, MakeValue>> = {
  string: (number, { maxLength }, name) => uniqueText(number, name, maxLength),
  integer: (number, { maximum }) => (maximum === undefined ? number : number % (Number(maximum) + 1)),
  bigint: (number, { mode }) => inMode(String(number), mode),
  number: (number) => number,
  decimal: (number, { precision = 10, scale = 0, mode }) => inMode(String(number % 10 ** (precision - scale)), mode),
  boolean: () => false,
  datetime: uniqueMoment,
  date: uniqueDay,
  time: uniqueTime,
  uuid: () => randomUUID(),
  objectId: () => randomBytes(12).toString('hex'),
  json: () => ({}),
  binary: (number) => Buffer.from(String(number)),
  enum: (number, { values = [] }) => values[number % values.length],
};

function inMode(digits: string, mode: FieldType['mode']): unknown {
  if (mode === 'bigint') return BigInt(digits);
  return mode === 'number' ? Number(digits) : digits;
}
