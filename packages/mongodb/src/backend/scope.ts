import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { type Condition, ImproperlyConfigured } from '@viewset/core';
import {
  type PlaceApart,
  type RelatedFilter,
  type RelatedFilters,
  hideAlike,
  holdsKeys,
  isReference,
  ownsColumn,
  placeApart,
  referredKey,
} from '@viewset/core/backend';
import { collectionName } from '../mikro/collection.ts';
import type { Document } from '../mikro/mongo-driver.ts';

/** The state that the scopes of one command share. */
export interface CompileContext {
  readonly em: EntityManager;
  readonly related: RelatedFilters | undefined;
  readonly names: { next: number };
  /** Makes the filter of a condition on the records of a scope. */
  conditionFilter(this: void, scope: Scope, condition: Condition): Document;
}

/** The collection that a stage looks records up in, and how they are tied to the record. */
export interface Lookup {
  readonly meta: EntityMetadata;
  readonly localField: string;
  readonly foreignField: string;
}

/**
 * The documents of one pipeline with the to-one relations looked up beside them: one `$lookup` for a relation, whoever needs
 * it. What is looked up stands in a field of its own in the document, `~` and a number, which no column is called.
 */
export class Scope {
  readonly context: CompileContext;
  readonly meta: EntityMetadata;
  readonly #prefix: string;
  readonly #joined = new Map<string, string>();
  readonly #looked: { stages: Document[]; reads: number };
  readonly #whole: Scope | undefined;
  #apart: Partial<Record<PlaceApart, Scope>> | undefined;

  /**
   * @param prefix the path that leads here from the root of the command, with a dot at its end; empty at the root
   * @param whole the scope that this is a place apart of
   */
  constructor(context: CompileContext, meta: EntityMetadata, prefix: string, whole?: Scope) {
    this.context = context;
    this.meta = meta;
    this.#prefix = prefix;
    this.#whole = whole;
    this.#looked = whole === undefined ? { stages: [], reads: 0 } : whole.#looked;
  }

  /** The same documents, with look-ups of their own of related ones of which other ones are hidden. */
  apart(place: PlaceApart): Scope {
    if (this.context.related === undefined) return this;
    return ((this.#apart ??= {})[place] ??= new Scope(this.context, this.meta, placeApart(this.#prefix, place), this));
  }

  /** The stages that look up what was asked for since the last time. */
  takeStages(): Document[] {
    const { stages } = this.#looked;
    this.#looked.stages = [];
    return stages;
  }

  /** The number of times that something of another collection was asked for. */
  get reads(): number {
    return this.#looked.reads;
  }

  /** The path of relations from the root of the command. */
  keyOf(steps: readonly EntityProperty[]): string {
    return this.#prefix + namesOf(steps);
  }

  /** The filter that records at the end of a path must pass. */
  filterOf(steps: readonly EntityProperty[]): RelatedFilter | undefined {
    return this.context.related?.get(this.keyOf(steps));
  }

  /** True if a relation was looked up. */
  isJoined(steps: readonly EntityProperty[]): boolean {
    return steps.length > 0 && this.#joined.has(namesOf(steps));
  }

  /** The field of a property at the end of to-one relations. */
  field(steps: readonly EntityProperty[], property: EntityProperty): string {
    const last = steps.at(-1);
    if (last !== undefined && isHeldBy(last, property) && this.filterOf(steps) === undefined && !this.isJoined(steps)) {
      return this.field(steps.slice(0, -1), last);
    }
    // A reference to a record that its own filters hide reads as NULL.
    const isOne = isReference(property) && !holdsKeys(property);
    const isHidden = isOne && this.filterOf([...steps, property]) !== undefined;
    if (isHidden) return this.#join([...steps, property]) + columnOf(referredKey(property));
    return this.storedField(steps, property);
  }

  /** The field as it is stored, whatever a filter makes of what it refers to. */
  storedField(steps: readonly EntityProperty[], property: EntityProperty): string {
    return this.fieldAt(steps, columnOf(property));
  }

  /** The field of a column of the records at the end of to-one relations. */
  fieldAt(steps: readonly EntityProperty[], column: string): string {
    return this.#join(steps) + column;
  }

  /** Adds a field with the documents of another collection that are tied to the record, and returns its name. */
  addLookup({ meta, localField, foreignField }: Lookup, pipeline: readonly Document[]): string {
    this.#looked.reads++;
    const as = `~${this.context.names.next++}`;
    // To a lookup, NULL and a field that is missing are equal to one another. A key is neither.
    const isSure = localField === '_id' || foreignField === '_id';
    const inner = isSure ? pipeline : [{ $match: { [foreignField]: { $ne: null } } }, ...pipeline];
    const from = collectionName(meta);
    this.#looked.stages.push({
      $lookup: { from, localField, foreignField, as, ...(inner.length > 0 && { pipeline: inner }) },
    });
    return as;
  }

  /** The field of the records at the end of to-one relations, with a dot behind it; empty for the record itself. */
  #join(steps: readonly EntityProperty[]): string {
    if (steps.length === 0) return '';
    if (this.#whole !== undefined && hideAlike(this, this.#whole, steps)) return this.#whole.#join(steps);
    this.#looked.reads++;
    const key = namesOf(steps);
    let joined = this.#joined.get(key);
    if (joined === undefined) this.#joined.set(key, (joined = this.#addJoin(steps)));
    return joined;
  }

  #addJoin(steps: readonly EntityProperty[]): string {
    const step = steps.at(-1) as EntityProperty;
    const meta = step.targetMeta as EntityMetadata;
    const owner = this.#join(steps.slice(0, -1));
    const { localField, foreignField } = toOneTie(step, meta);
    const filter = this.filterOf(steps);
    const pipeline: Document[] = [];
    if (filter !== undefined) {
      const inner = new Scope(this.context, meta, `${this.keyOf(steps)}.`);
      const match = this.context.conditionFilter(inner, filter.condition);
      pipeline.push(...inner.takeStages(), { $match: match });
    }
    const as = this.addLookup({ meta, localField: owner + localField, foreignField }, pipeline);
    this.#looked.stages.push({ $unwind: { path: `$${as}`, preserveNullAndEmptyArrays: true } });
    return `${as}.`;
  }
}

/** True if a reference holds the property's value itself: references are kept right by whoever writes and deletes. */
function isHeldBy(step: EntityProperty, property: EntityProperty): boolean {
  return ownsColumn(step) && step.createForeignKeyConstraint && referredKey(step) === property;
}

function toOneTie(step: EntityProperty, meta: EntityMetadata): { localField: string; foreignField: string } {
  if (ownsColumn(step)) return { localField: columnOf(step), foreignField: referredColumn(step) };
  const mapped = meta.properties[step.mappedBy] as EntityProperty;
  return { localField: referredColumn(mapped), foreignField: columnOf(mapped) };
}

/** The column at the other end of a reference that the reference repeats. */
export function referredColumn(property: EntityProperty): string {
  return columnOf(referredKey(property));
}

/** @throws ImproperlyConfigured for a property that is not one field of its document */
export function columnOf(property: EntityProperty): string {
  const [name, ...others] = property.fieldNames ?? [];
  if (name !== undefined && others.length === 0 && property.formula === undefined) return name;
  const why = property.formula === undefined ? 'is not kept in one field' : 'is a formula, which is SQL';
  throw new ImproperlyConfigured(`"${property.name}" ${why}`);
}

function namesOf(steps: readonly EntityProperty[]): string {
  return steps.map(({ name }) => name).join('.');
}
