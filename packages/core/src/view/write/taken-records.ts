import { type EntityManager, type EntityMetadata, type Platform, Utils } from '@mikro-orm/core';
import { fieldPath, type FieldPath, findFieldPath } from '../../fields/field-path.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import { keyText } from '../../fields/primary-key.ts';
import { valueReader } from '../../fields/value-reader.ts';
import { compare } from '../../query/language/compare.ts';
import { and, type Condition, or } from '../../query/language/condition.ts';
import { foldCase } from '../../query/language/fold-case.ts';
import { lookupsFor } from '../../query/language/lookup.ts';
import type { Projection } from '../../query/language/projection.ts';
import { entityReader, populateFor } from '../../mikro/entity-reader.ts';
import { QuerySet } from '../../query/queryset.ts';
import type { WrittenRecord } from '../request/written-records.ts';
import { comparable, type ConstrainedField, valueOf } from './constrained-fields.ts';

/** How values are compared. The first way that finds a record at fault decides. */
interface Way {
  /** True if NULL equals NULL: on MongoDB, and for `nulls not distinct`. */
  readonly equalNulls: boolean;
  /** True if texts are compared without case: for indexes on `lower(email)`, and collations. */
  readonly foldsCase: boolean;
}

const WAYS: readonly Way[] = [
  { equalNulls: false, foldsCase: false },
  { equalNulls: true, foldsCase: false },
  { equalNulls: false, foldsCase: true },
];

/** A stored record: its key, and its values of the constraint. */
interface Holder {
  readonly keys: ReadonlyMap<string, string>;
  readonly values: readonly unknown[];
}

/** A record to write, with its values of the constraint. Undefined for a value that is not known before the write. */
interface Candidate {
  readonly record: WrittenRecord;
  readonly values: readonly unknown[];
}

/**
 * Finds the records whose values of a unique constraint are taken, by a stored record or by an earlier record of the
 * list. It runs several queries, so use it only for errors.
 *
 * @param records the records that may be at fault, all of one entity
 * @param fields the fields that are unique together
 */
export async function takenRecords(
  em: EntityManager,
  records: readonly WrittenRecord[],
  fields: readonly ConstrainedField[],
): Promise<readonly WrittenRecord[]> {
  const meta = holderOf(records[0]!.meta, fields);
  const paths = fields.map(({ names }) => findFieldPath(meta, names.join('.'), '.'));
  const known = paths.filter((path) => typeof path !== 'string');
  if (known.length < paths.length) return [];
  try {
    const candidates = await completed(em, meta, records, fields, known);
    return await atFault(em, meta, candidates, known);
  } catch (error) {
    // A reference by a field other than the key has a value of another type here.
    if (error instanceof FieldValueError) return [];
    throw error;
  }
}

/** Returns the entity of all records that a constraint compares: classes of one table may share it. */
function holderOf(meta: EntityMetadata, fields: readonly ConstrainedField[]): EntityMetadata {
  const { root } = meta;
  const isShared = fields.every(({ property }) => root.properties[property.name as never] !== undefined);
  return isShared ? root : meta;
}

async function atFault(
  em: EntityManager,
  meta: EntityMetadata,
  candidates: readonly Candidate[],
  paths: readonly FieldPath[],
): Promise<readonly WrittenRecord[]> {
  // A record that the request moves away does not occupy its old value. It does if the database refused to move it.
  for (const countsMoved of [false, true]) {
    for (const way of WAYS) {
      const condition = conditionOf(candidates, paths, way);
      if (condition === undefined) continue;
      const holders = await findHolders(em, meta, candidates, paths, condition);
      const found = candidates.filter((each, index) => {
        return isTaken(each, candidates.slice(0, index), holders, way, countsMoved ? [] : candidates);
      });
      if (found.length > 0) return found.map(({ record }) => record);
    }
  }
  return [];
}

function isTaken(
  candidate: Candidate,
  earlier: readonly Candidate[],
  holders: readonly Holder[],
  way: Way,
  moving: readonly Candidate[],
): boolean {
  const equal = holders.filter(({ values }) => areEqual(candidate.values, values, way));
  if (equal.some((holder) => isOf(holder, candidate))) return false;
  if (earlier.some(({ values }) => areEqual(candidate.values, values, way))) return true;
  return equal.some((holder) => {
    const mover = moving.find((each) => isOf(holder, each));
    return mover === undefined || areEqual(mover.values, holder.values, way);
  });
}

function isOf({ keys }: Holder, { record: { stored } }: Candidate): boolean {
  return stored !== undefined && keys.get(stored.field) === keyText(stored.value);
}

function areEqual(one: readonly unknown[], other: readonly unknown[], way: Way): boolean {
  return one.every((value, index) => isEqual(value, other[index], way));
}

function isEqual(one: unknown, other: unknown, { equalNulls, foldsCase }: Way): boolean {
  // Records of one request usually get the same value from a hook or a default.
  if (one === undefined || other === undefined) return true;
  if (one === null || other === null) return equalNulls && one === other;
  if (isNew(one) || isNew(other)) return one === other;
  const texts = [keyText(one), keyText(other)].map((text) => (foldsCase ? foldCase(text) : text));
  return texts[0] === texts[1];
}

/** True for a record that is not stored yet, so that no stored record refers to it. */
function isNew(value: unknown): boolean {
  return typeof value === 'symbol' || Utils.isEntity(value);
}

/**
 * Selects the stored records that may have the values of a candidate. Undefined if a way of comparing makes no
 * difference.
 */
function conditionOf(
  candidates: readonly Candidate[],
  paths: readonly FieldPath[],
  { equalNulls, foldsCase }: Way,
): Condition | undefined {
  const columns = paths.map((_, index) => candidates.map(({ values }) => values[index]));
  if (equalNulls && !columns.flat().includes(null)) return undefined;
  const hasText = columns.some((values, index) => foldsTexts(paths[index]!, values));
  if (foldsCase && !hasText) return undefined;
  const conditions = columns.flatMap((values, index) => {
    if (values.includes(undefined)) return [];
    const path = paths[index]!;
    const stored = values.filter((value) => value !== null && !isNew(value));
    const folded = foldsCase && foldsTexts(path, values);
    const same = folded ? stored.map((value) => compare(path, 'iexact', value)) : [compare(path, 'in', stored)];
    return [or(...same, ...(equalNulls && values.includes(null) ? [compare(path, 'isnull', true)] : []))];
  });
  return and(...conditions);
}

function foldsTexts(path: FieldPath, values: readonly unknown[]): boolean {
  return lookupsFor(path.type).includes('iexact') && values.some((value) => typeof value === 'string');
}

async function findHolders(
  em: EntityManager,
  meta: EntityMetadata,
  candidates: readonly Candidate[],
  paths: readonly FieldPath[],
  condition: Condition,
): Promise<Holder[]> {
  const keys = keysOf(meta, candidates);
  const read = [...keys, ...paths];
  // A record that a filter hides still occupies its values.
  const rows = await QuerySet.of(em, meta.class).unfiltered().where(condition).rows(valuesOf(read, em.getPlatform()));
  return rows.map((row) => ({
    keys: new Map(keys.map(({ key }, index) => [key, keyText(row[index])])),
    values: paths.map((path, index) => comparable(path, row[keys.length + index])),
  }));
}

/** Reads columns as the values that an entity has. */
function valuesOf(paths: readonly FieldPath[], platform: Platform): Projection<readonly unknown[]> {
  const readers = paths.map((path) => valueReader(path, platform));
  const ofEntity = paths.map(entityReader);
  return {
    paths,
    readRow: (row) => row.map((raw, index) => (raw === null ? null : (readers[index]?.(raw) ?? raw))),
    readEntity: (entity) => ofEntity.map((read) => read(entity)),
    populate: paths.flatMap(populateFor),
  };
}

function keysOf(meta: EntityMetadata, candidates: readonly Candidate[]): FieldPath[] {
  const names = new Set(candidates.flatMap(({ record: { stored } }) => stored?.field ?? []));
  return [...names].map((name) => fieldPath(meta, name, '.'));
}

/** Returns the values of each record: those of the request, else the stored ones, else the defaults. */
async function completed(
  em: EntityManager,
  meta: EntityMetadata,
  records: readonly WrittenRecord[],
  fields: readonly ConstrainedField[],
  paths: readonly FieldPath[],
): Promise<Candidate[]> {
  const candidates = records.map((record) => ({ record, values: fields.map((field) => valueOf(record.input, field)) }));
  const changed = candidates.filter(({ record, values }) => record.stored !== undefined && values.includes(undefined));
  const conditions = keysOf(meta, changed).map((path) => {
    const named = changed.filter(({ record }) => record.stored?.field === path.key);
    return compare(
      path,
      'in',
      named.map(({ record }) => record.stored!.value),
    );
  });
  const stored = changed.length === 0 ? [] : await findHolders(em, meta, changed, paths, or(...conditions));
  return candidates.map((candidate) => {
    const itself = stored.find((holder) => isOf(holder, candidate));
    const values = candidate.values.map((value, index) => {
      if (value !== undefined) return comparable(paths[index]!, value);
      return candidate.record.stored === undefined ? defaultOf(fields[index]!) : itself?.values[index];
    });
    return { record: candidate.record, values };
  });
}

/** Returns the value that the database stores for a new record without one. Undefined if it is not known. */
function defaultOf({ property, names }: ConstrainedField): unknown {
  // An absent embeddable is NULL in all its columns.
  if (names.length > 1) return null;
  const { default: value, defaultRaw, nullable = false, onCreate } = property;
  if (onCreate !== undefined) return undefined;
  if (value === undefined && defaultRaw === undefined) return nullable ? null : undefined;
  return ['string', 'number', 'boolean'].includes(typeof value) ? value : undefined;
}
