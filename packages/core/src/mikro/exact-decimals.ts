import { DecimalType, type EntityManager, type Platform } from '@mikro-orm/core';
import { decimalText, shortDecimal } from '../fields/decimal-text.ts';

/** Reports whether a database returns a decimal of a column, or of a JSON column, with the same digits. */
type KeepsDecimal = (text: string, isInJson: boolean) => boolean;

/** Returns the nearest decimal that a column can have: the least above a text, or the greatest below it. */
type RoundDecimal = (text: string, isUp: boolean) => string;

interface DecimalLimits {
  readonly keeps: KeepsDecimal;
  readonly round: RoundDecimal | undefined;
}

const limits = new WeakMap<Platform, DecimalLimits>();
const prepared = new WeakSet<object>();

/**
 * Declares which decimals a platform's database keeps. Default: all that fit the column.
 *
 * @param round rounds a decimal that no column can have, to compare it. Default: the database compares it exactly
 */
export function limitDecimals(platform: Platform, keeps: KeepsDecimal, round?: RoundDecimal): void {
  limits.set(platform, { keeps, round });
}

/**
 * Reports whether a database keeps all digits of a decimal.
 *
 * @param type the type of the column. A list of decimals is stored as texts, which every database keeps
 */
export function keepsDecimal(type: unknown, text: string, isInJson: boolean): boolean {
  return limitsOf(type)?.keeps(text, isInJson) !== false;
}

/**
 * Rounds a decimal that no column can have, to compare it with a column. Undefined if it needs no rounding.
 *
 * @param type the type of the column
 */
export function comparableDecimal(type: unknown, text: string, isUp: boolean): string | undefined {
  const { keeps, round } = limitsOf(type) ?? {};
  return round === undefined || keeps?.(text, false) !== false ? undefined : round(text, isUp);
}

function limitsOf(type: unknown): DecimalLimits | undefined {
  const { platform } = type instanceof DecimalType ? (type as unknown as { readonly platform?: Platform }) : {};
  return platform === undefined ? undefined : limits.get(platform);
}

/**
 * Makes an ORM compare decimals by their digits, and read them without an exponent. MikroORM compares them as doubles,
 * so a change of the sixteenth digit would not be stored. The application's own types are not changed.
 */
export function compareDecimals(em: EntityManager): void {
  const metadata = em.getMetadata();
  if (prepared.has(metadata)) return;
  prepared.add(metadata);
  for (const { props } of metadata.getAll().values()) {
    for (const { customType } of props) {
      const type: unknown = customType;
      if (type?.constructor !== DecimalType || prepared.has(type)) continue;
      prepared.add(type);
      const decimal = type as DecimalType<'number' | 'string'>;
      const read = decimal.convertToJSValue.bind(decimal);
      decimal.compareValues = (a, b) => shortDecimal(a) === shortDecimal(b);
      decimal.convertToJSValue = (raw) => read(typeof raw === 'number' ? decimalText(raw) : raw);
    }
  }
}
