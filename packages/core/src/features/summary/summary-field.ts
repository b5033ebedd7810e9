import type { EntityMetadata, Platform } from '@mikro-orm/core';
import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { isoDate } from '../../fields/calendar.ts';
import { isDecimalText, plainDecimal, quotientOf, toScale } from '../../fields/decimal-text.ts';
import type { FieldKind, FieldType } from '../../fields/field-kind.ts';
import { FIELD_KINDS } from '../../fields/field-kinds.ts';
import { fieldPath, type FieldPath } from '../../fields/field-path.ts';
import { customTypeOf } from '../../fields/field-type.ts';
import { valueReader } from '../../fields/value-reader.ts';
import { type GroupKey, type Period, PERIODS } from '../../query/language/grouping.ts';
import { type ShapeField, shapeField } from '../../shapes/shape-field.ts';
import { readSchema, wireWriter } from '../../shapes/wire-format.ts';
import type { Aggregate } from './summary-option.ts';

/** A field that a summary reads, resolved once: a value, or a group key. */
export interface SummaryField extends GroupKey {
  /** The name in requests and in the response. */
  readonly name: string;
  readonly schema: TSchema;
  /** Turns a driver's value, never null, into the value of the response. */
  readonly write: (raw: unknown) => unknown;
}

const NUMBERS: ReadonlySet<FieldKind> = new Set(['integer', 'bigint', 'number', 'decimal']);
/** Numbers with fractions, whose equality differs between databases. */
const FRACTIONS: ReadonlySet<FieldKind> = new Set(['number', 'decimal']);
const TIMES: ReadonlySet<FieldKind> = new Set(['date', 'datetime']);

/** The extra digits of an average after the point, beyond those of its field. */
const MORE_DIGITS = 4;

/** @throws ImproperlyConfigured for a field that cannot group records */
export function groupField(meta: EntityMetadata, platform: Platform, name: string): SummaryField {
  const colon = name.indexOf(':');
  const field = colon === -1 ? name : name.slice(0, colon);
  const period = colon === -1 ? undefined : (name.slice(colon + 1) as Period);
  const path = columnPath(meta, field);
  if (period !== undefined) {
    if (!PERIODS.includes(period)) throw wrong(path, `has no period "${period}"; known: ${PERIODS.join(', ')}`);
    if (!TIMES.has(path.type.kind)) {
      throw wrong(path, `is of type ${path.type.kind}; only dates and times can be grouped by ${period}`);
    }
    const type = path.nullable ? ['string', 'null'] : 'string';
    return { name, path, period, schema: { type, format: 'date' }, write: isoDate };
  }
  const { kind, lacks } = path.type;
  if (FRACTIONS.has(kind) || FIELD_KINDS[kind].comparability === 'not at all' || lacks === 'equality') {
    throw wrong(path, `is of type ${kind}, which cannot be grouped`);
  }
  const shown = shapeField(meta, field);
  return { name, path, period, schema: readSchema(shown), write: columnWriter(path, shown, platform) };
}

/** @throws ImproperlyConfigured for a field without this aggregate */
export function valueField(meta: EntityMetadata, platform: Platform, name: string, aggregate: Aggregate): SummaryField {
  const path = columnPath(meta, name);
  const { kind, mode } = path.type;
  const isAdded = aggregate === 'sum' || aggregate === 'avg';
  if (isAdded ? !NUMBERS.has(kind) : FIELD_KINDS[kind].comparability !== 'by order') {
    throw wrong(path, `is of type ${kind}, which has no ${aggregate}`);
  }
  // The sum of no records is null.
  const shown = { ...shapeField(meta, name), nullable: true };
  const schema = aggregate === 'avg' && mode !== 'string' && mode !== 'bigint' ? AVERAGE : readSchema(shown);
  const write = isAdded || kind === 'decimal' ? numberWriter(path.type) : columnWriter(path, shown, platform);
  return { name, path, period: undefined, schema, write };
}

const AVERAGE = { type: ['number', 'null'] };

/** Makes an average from the `sum` and `count` of a field. */
export function averageOf({ kind, mode, scale }: FieldType, sum: unknown, count: number): unknown {
  if (kind === 'number') return finiteOrNull((sum as number) / count);
  if (kind === 'integer') return Number(sum) / count;
  if (!isDecimalText(String(sum))) return null;
  const average = quotientOf(String(sum), count, (scale ?? 0) + MORE_DIGITS);
  return mode === 'number' ? Number(average) : average;
}

/** Returns null for a sum that no JSON number can express: an overflow, or NaN. */
function finiteOrNull(sum: number): number | null {
  return Number.isFinite(sum) ? sum : null;
}

function columnPath(meta: EntityMetadata, name: string): FieldPath {
  const path = fieldPath(meta, name, '.');
  if (path.toMany) throw wrong(path, 'leads to many records, so a record would count several times');
  if (customTypeOf(path.property) !== undefined) {
    throw wrong(path, "is of a type of the application's own, whose values only the application can compare");
  }
  return path;
}

function wrong({ key }: FieldPath, problem: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`"${key}" ${problem}`);
}

function columnWriter(path: FieldPath, shown: ShapeField, platform: Platform): (raw: unknown) => unknown {
  const read = valueReader(path, platform) ?? ((raw: unknown) => raw);
  const write = (wireWriter(shown, platform) as ((value: unknown) => unknown) | undefined) ?? ((value) => value);
  return (raw) => write(read(raw));
}

/**
 * Writes a number in the form of its field. A field whose numbers are texts stays exact, with the digits of the column
 * on every database.
 */
function numberWriter({ kind, mode, scale }: FieldType): (raw: unknown) => unknown {
  if (kind === 'number') return (raw) => finiteOrNull(Number(raw));
  const isNumber = kind === 'integer' || mode === 'number';
  return (raw) => {
    const text = plainDecimal(String(raw));
    // PostgreSQL's numeric may be NaN or infinite.
    if (text === undefined) return null;
    if (isNumber) return Number(text);
    return scale === undefined ? text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') : toScale(text, scale);
  };
}
