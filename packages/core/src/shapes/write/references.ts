import type { EntityManager, EntityName, FilterOptions } from '@mikro-orm/core';
import { fieldPath } from '../../fields/field-path.ts';
import { keyText } from '../../fields/primary-key.ts';
import { pointerStep } from '../../json.ts';
import { compare } from '../../language/compare.ts';
import type { Condition } from '../../language/condition.ts';
import { QuerySet } from '../../query/queryset.ts';
import { recordsByValue } from '../../query/records-by-value.ts';
import { invalidInput } from '../../schema/error-details.ts';
import type { Problem } from '../../schema/scan-input.ts';
import type { BoundChildren, BoundField, Reference } from './bound-input.ts';
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

/** Returns the children in a loaded collection, by key. */
export function childrenOf(entity: object, name: string, { key }: BoundChildren): Map<string, Values> {
  const items = ((entity as Values)[name] as { getItems(): Values[] } | undefined)?.getItems() ?? [];
  return new Map(items.map((child) => [keyText(child[key]), child]));
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
  /** The paths with a known problem, whose values are not references or lists of references. */
  readonly #faulty: ReadonlySet<string>;

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
    const { key, shape, target } = children;
    const known = entity === undefined ? undefined : childrenOf(entity, name, children);
    return items.map((item, index) => {
      const place = `${at}/${index}`;
      if (this.#faulty.has(place)) return item;
      const keyPlace = place + pointerStep(key);
      const isNamed = known !== undefined && item[key] !== undefined && !this.#faulty.has(keyPlace);
      const child = isNamed ? known.get(keyText(item[key])) : undefined;
      if (isNamed && child === undefined) {
        const message = `must be the ${key} of a ${target.className} of this record`;
        this.problems.push({ path: keyPlace, message });
      }
      return this.copy(shape.fields, item, place, child);
    });
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
