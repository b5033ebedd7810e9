import { DecimalType, type EntityManager, type Platform } from '@mikro-orm/core';
import { decimalText, shortDecimal } from '../fields/decimal-text.ts';

/** Reports whether a database returns a decimal of a column, or of a JSON column, with the same digits. */
type KeepsDecimal = (text: string, isInJson: boolean) => boolean;

const limits = new WeakMap<Platform, KeepsDecimal>();
const prepared = new WeakSet<object>();

/** Declares which decimals a platform's database keeps. Default: all that fit the column. */
export function limitDecimals(platform: Platform, keeps: KeepsDecimal): void {
  limits.set(platform, keeps);
}

/**
 * Reports whether a database keeps all digits of a decimal.
 *
 * @param type the type of the column. A list of decimals is stored as texts, which every database keeps
 */
export function keepsDecimal(type: unknown, text: string, isInJson: boolean): boolean {
  const { platform } = type instanceof DecimalType ? (type as unknown as { readonly platform?: Platform }) : {};
  return platform === undefined || limits.get(platform)?.(text, isInJson) !== false;
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
