import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { randomInt, randomUUID } from 'node:crypto';
import type { FieldPath } from '../../fields/field-path.ts';
import { customTypeOf } from '../../fields/field-type.ts';
import { isReference } from '../../fields/property.ts';
import { compare } from '../../query/language/compare.ts';
import { orderValues } from '../../query/language/projection.ts';
import { QuerySet } from '../../query/queryset.ts';

/** The days from which a random date is taken: those of the 18th century. */
const FIRST_DAY = Date.UTC(1700, 0, 1);
const DAYS = 36_500;
const DAY_MS = 86_400_000;

/**
 * Lists values that a column can have for a moment, the best first, and that no record is likely to have. The database
 * may refuse each of them by a rule of its own. Empty for a column with few or fixed values.
 *
 * @param current the present value of the record, whose form texts keep
 */
export async function freeValues(
  em: EntityManager,
  meta: EntityMetadata,
  path: FieldPath,
  current: unknown,
): Promise<readonly unknown[]> {
  const nothing = path.nullable ? [null] : [];
  if (isReference(path.property) || customTypeOf(path.property) !== undefined) return nothing;
  switch (path.type.kind) {
    case 'integer':
    case 'bigint':
    case 'number':
    case 'decimal':
      return [...nothing, ...(await freeNumbers(em, meta, path, current))];
    case 'string':
      return [...nothing, ...(await freeTexts(em, meta, path, String(current)))];
    case 'uuid':
      return [...nothing, randomUUID()];
    case 'date':
      return [...nothing, randomDay().toISOString().slice(0, 10)];
    case 'datetime':
      return [...nothing, randomDay()];
    case 'boolean':
    case 'time':
    case 'enum':
    case 'json':
    case 'binary':
    case 'objectId':
      return nothing;
  }
}

/** Returns the number above the greatest of all records, and the one below the least. */
async function freeNumbers(
  em: EntityManager,
  meta: EntityMetadata,
  path: FieldPath,
  current: unknown,
): Promise<unknown[]> {
  const { minimum, maximum } = path.type;
  const [least, greatest] = [await extremeOf(em, meta, path, false), await extremeOf(em, meta, path, true)];
  const found: unknown[] = [];
  if (greatest !== undefined && (maximum === undefined || greatest < maximum)) found.push(stepFrom(greatest, 1));
  if (least !== undefined && (minimum === undefined || least > minimum)) found.push(stepFrom(least, -1));
  // The entity declares in which form it holds such numbers.
  return found.map((value) => (typeof current === 'string' ? String(value) : value));
}

function stepFrom(value: number | bigint, step: 1 | -1): number | bigint {
  return typeof value === 'bigint' ? value + BigInt(step) : Math.round(value) + step;
}

async function extremeOf(
  em: EntityManager,
  meta: EntityMetadata,
  path: FieldPath,
  descending: boolean,
): Promise<number | bigint | undefined> {
  const [row] = await QuerySet.of(em, meta.class)
    .unfiltered()
    .where(compare(path, 'isnull', false))
    .orderByPaths([{ path, descending }])
    .slice(0, 1)
    .rows(orderValues([{ path, descending }]));
  if (row === undefined) return undefined;
  const [value] = row;
  return path.type.kind === 'bigint' ? BigInt(value as string) : Number(value);
}

/** The letters that take the place of a letter of the same class. */
const CLASSES = ['abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '0123456789'] as const;
/** The number of letters of a text that is not made after the present one. */
const LENGTH = 12;
/** The number of random texts of each form, of which those that a record has are left out. A short text is often taken. */
const ATTEMPTS = 20;
/** The most texts of each form that are tried. */
const MAX_TEXTS = 3;

/**
 * Returns texts of the form of the present one, because a rule may ask for it: a slug, a code of digits. Then texts of
 * letters. A database without savepoints cannot try a value, so no record has any of them.
 */
async function freeTexts(
  em: EntityManager,
  meta: EntityMetadata,
  path: FieldPath,
  current: string,
): Promise<readonly string[]> {
  const { maxLength = LENGTH } = path.type;
  const form = Array.from({ length: Math.min(maxLength, LENGTH) }, () => 'a');
  const forms = [Array.from(current), form].map((letters) => {
    return Array.from({ length: ATTEMPTS }, () => letters.map(another).join(''));
  });
  const taken = new Set(await storedAmong(em, meta, path, forms.flat()));
  const free = forms.map((texts) => [...new Set(texts)].filter((text) => text !== current && !taken.has(text)));
  return free.flatMap((texts) => texts.slice(0, MAX_TEXTS));
}

/** Returns the texts that a record has. */
async function storedAmong(
  em: EntityManager,
  meta: EntityMetadata,
  path: FieldPath,
  texts: readonly string[],
): Promise<readonly string[]> {
  const rows = await QuerySet.of(em, meta.class)
    .unfiltered()
    .where(compare(path, 'in', texts))
    .rows(orderValues([{ path, descending: false }]));
  return rows.map(([value]) => String(value));
}

function another(letter: string): string {
  const all = CLASSES.find((each) => each.includes(letter));
  return all === undefined ? letter : all[randomInt(all.length)]!;
}

function randomDay(): Date {
  return new Date(FIRST_DAY + randomInt(DAYS) * DAY_MS + randomInt(DAY_MS));
}
