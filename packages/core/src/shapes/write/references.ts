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
 * Finds the records of a condition that a reference may lead to, as entities of the request.
 *
 * @param mentions the places of the body whose values the condition asks for
 */
export type FindReferred = (
  reference: Reference,
  condition: Condition,
  mentions: readonly Mention[],
) => Promise<readonly object[]>;

/**
 * Finds the records of a condition that the filters of their entity show.
 *
 * @param filters the filters of MikroORM that are put on, or are given parameters
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
  /** The record that is changed, its children loaded; a child that the data names has to be one of them. Undefined for a new one. */
  readonly entity?: object | undefined;
}

/**
 * Puts the related entities in the place of what the client sent for them: one query for each reference of the shape, however
 * many values it has, those of children and of all records among them. A record that is not found is answered like one that is not there, or
 * created if the reference says so. Nothing is created as long as a fault is known.
 *
 * @param known the faults of the records that are known already: nothing is asked of the values at their places
 * @throws InvalidUsage with a detail for every fault that is known, and for every reference to a record that is not there
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
    // One after the other: inside a transaction there is but one connection.
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

/** The fault of a reference to a record that is not there. */
export function absentAt(path: string, { target, key }: Reference): Problem {
  return { path, message: `must be the ${key} of an existing ${target.className}` };
}

/** The children that a loaded collection has, by their keys. */
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

/** The walk through the data of one body. */
class ReferenceReading {
  readonly mentions = new Map<Reference, Mention[]>();
  readonly problems: Problem[] = [];
  /** The places whose values are no references, or lists of none. */
  readonly #faulty: ReadonlySet<string>;

  constructor(known: readonly Problem[]) {
    this.#faulty = new Set(known.map(({ path }) => path));
  }

  /** Copies data, and notes its references, whose places in the copy are filled later. */
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
      // The database may find one record by several texts.
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

/** Looks up all values of one reference by one condition. */
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
