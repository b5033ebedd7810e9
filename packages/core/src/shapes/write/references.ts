import type { EntityManager, EntityMetadata, EntityName, FilterOptions } from '@mikro-orm/core';
import { fieldPath } from '../../fields/field-path.ts';
import { keyOfEntity, keyText, primaryKey } from '../../fields/primary-key.ts';
import { isRecord, pointerStep } from '../../support/json.ts';
import { compare } from '../../query/language/compare.ts';
import { and, type Condition } from '../../query/language/condition.ts';
import { orderValues } from '../../query/language/projection.ts';
import { metadataOf } from '../../mikro/entities.ts';
import { QuerySet } from '../../query/queryset.ts';
import { recordsByValue } from '../../query/records-by-value.ts';
import { invalidInput } from '../../schema/error-details.ts';
import { placedAt, type Problem } from '../../schema/scan-input.ts';
import type { BoundChildren, BoundField, Reference } from './bound-input.ts';
import { childrenOf } from './stored-children.ts';
import { createUnknown } from './unknown-references.ts';

/**
 * Finds the records that match a condition and that a reference may select, as entities of the request.
 *
 * @param mentions the positions in the body of the values in the condition
 */
export type FindReferred = (
  reference: Reference,
  condition: Condition,
  mentions: readonly Mention[],
) => Promise<readonly object[]>;

/**
 * Finds the records that match a condition and that the filters of their entity show.
 *
 * @param filters the MikroORM filters that are enabled, or have parameters
 */
export function findVisible(
  em: EntityManager,
  { target }: Reference,
  condition: Condition,
  filters: FilterOptions = {},
): Promise<object[]> {
  return QuerySet.of(em, target.class as EntityName<object>)
    .withFilters(filters)
    .where(condition)
    .entities();
}

type Values = Record<string, unknown>;

/** The data of one record of a body. */
export interface RecordData {
  readonly data: object;
  /** The JSON pointer to the record in the body. */
  readonly path: string;
  /**
   * The record to change, with its children loaded. Children that the data names must be among them. Undefined for a
   * new record.
   */
  readonly entity?: object | undefined;
}

/**
 * Replaces sent references by the related entities. It makes one query for each reference of the shape. The query
 * covers all values, including those in children and in all records. A record that is not found counts as missing, or
 * is created if `creates` is set. Nothing is created while a problem is known.
 *
 * @param known the problems that are already known; values at their paths are not looked up
 * @throws InvalidUsage with a detail for every known problem, and for every reference to a missing record
 */
export async function resolveReferences(
  em: EntityManager,
  records: readonly RecordData[],
  fields: readonly BoundField[],
  findReferred: FindReferred,
  known: readonly Problem[],
): Promise<object[]> {
  const reading = new ReferenceReading(known);
  const resolved = records.map(({ data, path, entity }) => {
    return reading.copy(fields, data as Values, path, entity as Values | undefined);
  });
  reading.problems.push(...(await hiddenAmong(em, reading.absent)));
  for (const [reference, mentions] of reading.mentions) {
    // Sequentially, because a transaction has only one connection.
    let found = await find(em, reference, mentions, findReferred);
    const { held, creates } = reference;
    const unknown = creates ? mentions.filter(({ value }) => found(value) === undefined) : [];
    if (unknown.length > 0) {
      if (known.length + reading.problems.length > 0) continue;
      const values = unknown.map(({ value }) => value);
      await createUnknown(em, reference, values);
      found = await find(em, reference, mentions, findReferred);
    }
    for (const { value, path, put } of mentions) {
      const record = found(value);
      if (record !== undefined) put(held === undefined ? record : record[held]);
      else reading.problems.push(absentAt(path, reference));
    }
  }
  const problems = [...known, ...reading.problems];
  if (problems.length > 0) throw invalidInput('body', problems);
  return resolved;
}

/** Makes the problem of a reference to a missing record. */
export function absentAt(path: string, { target, key }: Reference): Problem {
  return { path, message: `must be the ${key} of an existing ${target.className}` };
}

/** A reference to one record. */
export interface Mention {
  readonly value: unknown;
  readonly path: string;
  readonly put: (found: unknown) => void;
}

/** Collects the references in the data of a request. */
class ReferenceReading {
  readonly mentions = new Map<Reference, Mention[]>();
  readonly problems: Problem[] = [];
  /** The to-one relations that get a new record, because they seem to have none. */
  readonly absent: AbsentRecord[] = [];
  /** The paths with a known problem, whose values are not references or lists of references. */
  readonly #faulty: Set<string>;

  constructor(known: readonly Problem[]) {
    this.#faulty = new Set(known.map(({ path }) => path));
  }

  /** Copies data and collects its references. Their values in the copy are set later. */
  copy(fields: readonly BoundField[], data: Values, at: string, entity: Values | undefined): Values {
    const copied = { ...data };
    for (const { name, path, reference, children, parts, isList = false } of fields) {
      const value = copied[name];
      const place = at + path;
      if (value === undefined || value === null || this.#faulty.has(place)) continue;
      if (parts !== undefined && isList) {
        copied[name] = (value as readonly (Values | null)[]).map((item, index) => {
          return item && this.copy(parts, item, `${place}/${index}`, undefined);
        });
      } else if (parts !== undefined) {
        copied[name] = this.copy(parts, value as Values, at, undefined);
      } else if (children?.isOne === true) {
        copied[name] = this.#copyRecord(name, children, value as Values, place, entity);
      } else if (children !== undefined) {
        copied[name] = this.#copyChildren(name, children, value as readonly Values[], place, entity);
      } else if (reference?.isMany === true) {
        copied[name] = this.#list(reference, value as readonly unknown[], place);
      } else if (reference !== undefined) {
        this.#note(reference, { value, path: place, put: (found) => (copied[name] = found) });
      }
    }
    return copied;
  }

  #copyChildren(
    name: string,
    children: BoundChildren,
    items: readonly Values[],
    at: string,
    entity: Values | undefined,
  ): Values[] {
    const known = entity === undefined ? undefined : childrenOf(entity, name, children);
    return items.map((item, index) => {
      const place = `${at}/${index}`;
      if (this.#faulty.has(place)) return item;
      const child = known === undefined ? undefined : this.#childNamed(children, item, place, known);
      return this.copy(children.shape.fields, item, place, child);
    });
  }

  /** Finds the child whose key an object has. A key of any other record is a problem. */
  #childNamed(
    { key, target, isOne }: BoundChildren,
    item: Values,
    place: string,
    known: ReadonlyMap<string, Values>,
  ): Values | undefined {
    if (key === undefined || item[key] === undefined) return undefined;
    const path = place + pointerStep(key);
    if (this.#faulty.has(path)) return undefined;
    const child = known.get(keyText(item[key]));
    if (child === undefined) {
      const message = `must be the ${key} of ${isOne ? 'the' : 'a'} ${target.className} of this record`;
      this.problems.push({ path, message });
    }
    return child;
  }

  /** Copies the object of a to-one relation. If there is no record to change, the object must be a complete new one. */
  #copyRecord(name: string, children: BoundChildren, item: Values, place: string, entity: Values | undefined): Values {
    const { key, shape } = children;
    if (entity === undefined) return this.copy(shape.fields, item, place, undefined);
    const known = childrenOf(entity, name, children);
    this.#childNamed(children, item, place, known);
    const [child] = known.values();
    if (child !== undefined) {
      return this.copy(shape.fields, key === undefined ? item : { [key]: child[key], ...item }, place, child);
    }
    if (children.owner === undefined) this.absent.push({ entity, name, path: place, target: children.target });
    const { value, problems = [] } = children.inspectNew(item) ?? { value: item };
    for (const problem of placedAt(place, problems)) {
      if (this.#faulty.has(problem.path)) continue;
      this.problems.push(problem);
      this.#faulty.add(problem.path);
    }
    return isRecord(value) ? this.copy(shape.fields, value, place, undefined) : item;
  }

  #list(reference: Reference, values: readonly unknown[], at: string): unknown[] {
    const list: unknown[] = [];
    const named = new Set<string>();
    const listed = new Set<unknown>();
    const put = (found: unknown): void => {
      // The database may find the same record for several texts.
      if (!listed.has(found)) list.push(found);
      listed.add(found);
    };
    for (const [index, value] of values.entries()) {
      const path = `${at}/${index}`;
      const text = keyText(value);
      if (named.has(text) || this.#faulty.has(path)) continue;
      named.add(text);
      this.#note(reference, { value, path, put });
    }
    return list;
  }

  #note(reference: Reference, mention: Mention): void {
    const mentions = this.mentions.get(reference);
    if (mentions === undefined) this.mentions.set(reference, [mention]);
    else mentions.push(mention);
  }
}

/** A to-one relation of a stored record that MikroORM has loaded as null. */
interface AbsentRecord {
  readonly entity: object;
  readonly name: string;
  readonly path: string;
  readonly target: EntityMetadata;
}

/** Finds the relations that are not null, but lead to a record that a filter hides. It must not be replaced. */
async function hiddenAmong(em: EntityManager, absent: readonly AbsentRecord[]): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const some of Map.groupBy(
    absent,
    ({ entity, name }) => `${metadataOf(em, entity).className}.${name}`,
  ).values()) {
    const { entity, name, target } = some[0]!;
    const meta = metadataOf(em, entity);
    const key = primaryKey(meta);
    const keys = some.map((each) => keyOfEntity(each.entity, key));
    const rows = await QuerySet.of(em, meta.class)
      .unfiltered()
      .where(and(compare(key, 'in', keys), compare(fieldPath(meta, name, '.'), 'isnull', false)))
      .rows(orderValues([{ path: key, descending: false }]));
    const hidden = new Set(rows.map(([found]) => keyText(found)));
    const message = `cannot be written, because its ${target.className} is hidden`;
    problems.push(
      ...some.filter((_, index) => hidden.has(keyText(keys[index]))).map(({ path }) => ({ path, message })),
    );
  }
  return problems;
}

/** Looks up all values of one reference with one condition. */
async function find(
  em: EntityManager,
  reference: Reference,
  mentions: readonly Mention[],
  findReferred: FindReferred,
): Promise<(value: unknown) => Values | undefined> {
  const { target, key } = reference;
  const values = [...new Map(mentions.map(({ value }) => [keyText(value), value])).values()];
  const [only, ...others] = values;
  const path = fieldPath(target, key, '.');
  const condition = others.length === 0 ? compare(path, 'exact', only) : compare(path, 'in', values);
  const records = (await findReferred(reference, condition, mentions)) as readonly Values[];
  return others.length === 0 ? () => records[0] : recordsByValue(em, target, path, values, records);
}
