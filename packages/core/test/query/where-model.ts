/** What conditions and filters of MikroORM mean, said in memory: records joined to records, and the three values of SQL. */
import type { EntityManager } from '@mikro-orm/core';
import { entities, NAMES, TO_MANY, TO_ONE, type Where } from './random-conditions.ts';

/** True, false, or unknown because of a NULL. */
type Truth = boolean | null;

interface Row {
  readonly entity: string;
  readonly columns: Readonly<Record<string, unknown>>;
  readonly one: Record<string, Row | null>;
  readonly many: Record<string, Row[]>;
}

type Filters = Readonly<Record<string, Where>>;
/** Tells if a related record is seen. */
type Sees = (row: Row) => boolean;
type Joined = ReadonlyMap<string, Row | null>;

/** A relation to many that is joined: all that asks through the same one asks the same record. */
interface Join {
  readonly key: string;
  records(joined: Joined): readonly Row[];
}

/** Where a part of a condition stands, and the record that it asks, by what is joined; null if there is none. */
interface Place {
  readonly entity: string;
  readonly key: string;
  readonly isNegated: boolean;
  /** The part of an "and" that stands directly here, which has joins of its own; empty for none. */
  readonly branch: string;
  row(joined: Joined): Row | null;
}

const everything: Sees = () => true;
const COLLECTION = new Set(['$some', '$none', '$every']);

export class Model {
  readonly #rows: readonly Row[];

  private constructor(rows: readonly Row[]) {
    this.#rows = rows;
  }

  static async of(em: EntityManager): Promise<Model> {
    const rows = new Map<object, Row>();
    for (const [index, entity] of entities.entries()) {
      const found = await em.find<Record<string, unknown>>(entity as never, {}, { populate: ['*'] as never });
      for (const record of found) {
        const { id, name, level } = record;
        rows.set(record, { entity: NAMES[index]!, columns: { id, name, level }, one: {}, many: {} });
      }
    }
    for (const [record, row] of rows) {
      const values = record as Record<string, unknown>;
      for (const name of Object.keys(TO_ONE[row.entity] ?? {})) {
        row.one[name] = rows.get(values[name] as object) ?? null;
      }
      for (const name of Object.keys(TO_MANY[row.entity] ?? {})) {
        row.many[name] = [...(values[name] as Iterable<object>)].map((related) => rows.get(related)!);
      }
    }
    return new Model([...rows.values()]);
  }

  /** The keys of the records that are seen and whose reference is one that is asked for, whatever hides the record that it leads to. */
  referring(entity: string, name: string, isAsked: (key: number | null) => boolean, filters: Filters): number[] {
    const seen = this.find(entity, undefined, filters);
    const rows = new Map(this.#rows.filter((row) => row.entity === entity).map((row) => [row.columns['id'], row]));
    return seen.filter((id) => isAsked((rows.get(id)!.one[name]?.columns['id'] ?? null) as number | null));
  }

  /** The keys of the records that are found. */
  find(entity: string, where: Where | undefined, filters: Filters): number[] {
    const sees: Sees = (row) => isVisible(row, filters, []);
    // What refers to a hidden record that it must have is hidden.
    const hasAll = ({ one: { reader } }: Row): boolean => reader === undefined || reader === null || sees(reader);
    return this.#rows
      .filter((row) => row.entity === entity && sees(row) && hasAll(row))
      .filter((row) => where === undefined || isFound(row, where, sees))
      .map(({ columns }) => columns['id'] as number)
      .toSorted((a, b) => a - b);
  }
}

/** @param filterChain the entities whose filters ask, one by way of the other, behind that which the query asks */
function isVisible(row: Row, filters: Filters, filterChain: readonly string[]): boolean {
  const filter = filters[row.entity];
  if (filter === undefined) return true;
  const leadsBack = touched(row.entity, filter, false).some((entity) => filterChain.includes(entity));
  if (leadsBack) return isFound(row, filter, everything);
  return isFound(row, filter, (related) => isVisible(related, filters, [...filterChain, related.entity]));
}

/** The entities whose filters hold in a condition. */
function touched(entity: string, where: Where, isNegated: boolean): string[] {
  return Object.entries(where).flatMap(([name, value]): string[] => {
    if (name === '$not') return touched(entity, value as Where, !isNegated);
    if (name === '$and' || name === '$or') return (value as Where[]).flatMap((one) => touched(entity, one, isNegated));
    const target = targetOf(entity, name);
    if (target === undefined) return [];
    const [operator, inner] = operatorOf(value as Where);
    if (operator === undefined) return [target, ...touched(target, value as Where, isNegated)];
    if (includesAll(operator, isNegated)) return [];
    return [target, ...touched(target, inner, operator === '$every')];
  });
}

/** True if a hidden record may keep the record from being found, but none makes it found. */
function includesAll(operator: string, isNegated: boolean): boolean {
  return (operator === '$some') === isNegated;
}

function operatorOf(value: Where): [operator: string | undefined, inner: Where] {
  const [name, inner] = Object.entries(value)[0] ?? ['', {}];
  return COLLECTION.has(name) ? [name, inner as Where] : [undefined, value];
}

function targetOf(entity: string, name: string): string | undefined {
  return TO_ONE[entity]?.[name] ?? TO_MANY[entity]?.[name];
}

/** Tells if there is a way to join records so that a condition is true. */
function isFound(row: Row, where: Where, sees: Sees): boolean {
  const place: Place = { entity: row.entity, key: '', isNegated: false, branch: '', row: () => row };
  const joins = new Map<string, Join>();
  collect(joins, place, where, sees);
  return anyJoined([...joins.values()], new Map(), (joined) => truth(place, where, joined, sees) === true);
}

function anyJoined(joins: readonly Join[], joined: Joined, isTrue: (joined: Joined) => boolean): boolean {
  const [join, ...others] = joins;
  if (join === undefined) return isTrue(joined);
  const records = join.records(joined);
  return (records.length === 0 ? [null] : records).some((row) =>
    anyJoined(others, new Map([...joined, [join.key, row]]), isTrue),
  );
}

/** Collects the relations to many that are joined, those that lead to others first. */
function collect(joins: Map<string, Join>, place: Place, where: Where, sees: Sees): void {
  for (const [name, value] of Object.entries(where)) {
    for (const [inner, one] of partsOf(place, name, value)) collect(joins, inner, one, sees);
    const related = relatedPlace(place, name, value as Where, sees);
    if (related === undefined) continue;
    if (TO_MANY[place.entity]?.[name] !== undefined && !joins.has(related.key)) {
      const records = (joined: Joined): Row[] => (place.row(joined)?.many[name] ?? []).filter(sees);
      joins.set(related.key, { key: related.key, records });
    }
    collect(joins, related, value as Where, sees);
  }
}

/** The parts of `$not`, `$and` and `$or`, and where they stand; as in MikroORM, each part of an "and" of several has joins of its own. */
function partsOf(place: Place, name: string, value: unknown): [place: Place, where: Where][] {
  if (name === '$not') return [[{ ...place, isNegated: !place.isNegated, branch: '' }, value as Where]];
  if (name !== '$and' && name !== '$or') return [];
  const parts = value as Where[];
  const hasBranches = name === '$and' && parts.length > 1;
  return parts.map((one, index) => [{ ...place, branch: hasBranches ? `[${index}]` : '' }, one]);
}

function relatedPlace(place: Place, name: string, value: Where, sees: Sees): Place | undefined {
  const entity = targetOf(place.entity, name);
  if (entity === undefined || operatorOf(value)[0] !== undefined) return undefined;
  const path = `${place.key}.${name}`;
  const related = { ...place, entity, branch: '' };
  if (TO_MANY[place.entity]?.[name] !== undefined) {
    const key = path + place.branch;
    return { ...related, key, row: (joined) => joined.get(key) ?? null };
  }
  const row = (joined: Joined): Row | null => {
    const one = place.row(joined)?.one[name] ?? null;
    return one !== null && sees(one) ? one : null;
  };
  return { ...related, key: path, row };
}

function truth(place: Place, where: Where, joined: Joined, sees: Sees): Truth {
  return all(Object.entries(where).map(([name, value]) => entryTruth(place, [name, value], joined, sees)));
}

function entryTruth(place: Place, [name, value]: [string, unknown], joined: Joined, sees: Sees): Truth {
  const parts = partsOf(place, name, value).map(([inner, one]) => truth(inner, one, joined, sees));
  if (name === '$not') return not(parts[0]!);
  if (parts.length > 0) return name === '$and' ? all(parts) : any(parts);
  const related = relatedPlace(place, name, value as Where, sees);
  if (related !== undefined) return truth(related, value as Where, joined, sees);
  const row = place.row(joined);
  if (targetOf(place.entity, name) === undefined) return columnTruth(row?.columns[name] ?? null, value);
  const [operator, inner] = operatorOf(value as Where);
  const seesThere = includesAll(operator!, place.isNegated) ? everything : sees;
  const asked = operator === '$every' ? { $not: inner } : inner;
  const isThere = row!.many[name]!.some((one) => seesThere(one) && isFound(one, asked, seesThere));
  return isThere === (operator === '$some');
}

function columnTruth(column: unknown, value: unknown): Truth {
  if (typeof value !== 'object' || value === null) return equals(column, value);
  return all(Object.entries(value).map(([operator, operand]) => comparison(column, operator, operand)));
}

function comparison(column: unknown, operator: string, operand: unknown): Truth {
  if (operator === '$eq') return equals(column, operand);
  if (operator === '$ne') return operand === null ? column !== null : not(equals(column, operand));
  if (operator === '$nin') return not(comparison(column, '$in', operand));
  if (operator === '$in') {
    return any((operand as unknown[]).map((one) => (one === null ? null : equals(column, one))));
  }
  if (column === null) return null;
  if (operator === '$like') {
    return operand === 'a%' ? (column as string).startsWith('a') : (column as string).endsWith('b');
  }
  const [left, right] = [column, operand] as [number, number];
  if (operator === '$gt') return left > right;
  if (operator === '$gte') return left >= right;
  return operator === '$lt' ? left < right : left <= right;
}

function equals(column: unknown, value: unknown): Truth {
  if (value === null) return column === null;
  return column === null ? null : column === value;
}

function not(truth: Truth): Truth {
  return truth === null ? null : !truth;
}

function all(truths: readonly Truth[]): Truth {
  if (truths.includes(false)) return false;
  return truths.includes(null) ? null : true;
}

function any(truths: readonly Truth[]): Truth {
  return not(all(truths.map(not)));
}
