import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Condition, FieldPath } from '@viewset/core';
import {
  isNativePath,
  isRelatedPath,
  nativeForm,
  type NativePath,
  type RelatedFilters,
  type RelatedPath,
  Scope,
} from '@viewset/core/backend';
import { collectionName } from '../mikro/collection.ts';
import type { Document } from '../mikro/mongo-driver.ts';
import { columnOf } from './column.ts';
import type { RelatedKeys } from './keyed-question.ts';
import { fieldTie } from './tie.ts';

/** The state shared by the scopes of one command. */
export interface CompileContext {
  readonly em: EntityManager;
  readonly related: RelatedFilters | undefined;
  readonly names: { next: number };
  /** Makes the filter of a condition on the records of a scope. */
  conditionFilter(this: void, scope: MongoScope, condition: Condition): Document;
  /** Adds a field with a value computed from related records, and returns the field's name. */
  addAggregate(this: void, scope: MongoScope, path: RelatedPath): string;
}

/** The collection to look up records in, and the fields that connect them. */
export interface Lookup {
  readonly meta: EntityMetadata;
  readonly localField: string;
  readonly foreignField: string;
}

/**
 * The documents of a pipeline, with a `$lookup` for each to-one relation. Each result is stored in its own field, `~`
 * and a number, which no column is called. A join is the field's name and a dot; empty for the record itself.
 */
export class MongoScope extends Scope<MongoScope, string> {
  readonly context: CompileContext;
  protected readonly root = '';
  /** The related keys that are already known; undefined below the root of a command. */
  readonly keys: RelatedKeys | undefined;
  readonly #looked: { stages: Document[]; reads: number };
  readonly #computedFields = new Map<RelatedPath | NativePath, string>();

  /**
   * @param prefix the path from the root of the command to here, ending with a dot; empty at the root
   * @param options.sharedScope the scope that this one is a separate place of
   * @param options.keys the related keys that are already known
   */
  constructor(
    context: CompileContext,
    meta: EntityMetadata,
    prefix: string,
    { sharedScope, keys }: { readonly sharedScope?: MongoScope; readonly keys?: RelatedKeys | undefined } = {},
  ) {
    super(meta, context.related, prefix, sharedScope);
    this.context = context;
    this.keys = keys;
    this.#looked = sharedScope === undefined ? { stages: [], reads: 0 } : sharedScope.#looked;
  }

  /** Returns the lookup stages that were added since the last call. */
  takeStages(): Document[] {
    const { stages } = this.#looked;
    this.#looked.stages = [];
    return stages;
  }

  /** How many times other collections were needed. */
  get reads(): number {
    return this.#looked.reads;
  }

  override join(steps: readonly EntityProperty[]): string {
    if (steps.length > 0) this.#looked.reads++;
    return super.join(steps);
  }

  /** Returns the field with the value at the end of a path through to-one relations. */
  value(path: FieldPath): string {
    if (!isRelatedPath(path) && !isNativePath(path)) {
      const { steps, property, isStored } = path;
      return isStored === true ? this.storedColumn(steps, property) : this.column(steps, property);
    }
    this.#looked.reads++;
    let field = this.#computedFields.get(path);
    if (field === undefined) this.#computedFields.set(path, (field = this.#addComputed(path)));
    return field;
  }

  #addComputed(path: RelatedPath | NativePath): string {
    if (!isNativePath(path)) return this.context.addAggregate(this, path);
    const { term, values } = path.native;
    return this.addField(nativeForm(term, 'document')(...values) as Document);
  }

  /** Adds a computed field, and returns its name. */
  addField(expression: Document): string {
    const name = `~${this.context.names.next++}`;
    this.#looked.stages.push({ $addFields: { [name]: expression } });
    return name;
  }

  /** Adds a field with the connected documents of another collection, and returns its name. */
  addLookup({ meta, localField, foreignField }: Lookup, pipeline: readonly Document[]): string {
    this.#looked.reads++;
    const as = `~${this.context.names.next++}`;
    // A `$lookup` treats NULL and missing fields as equal. Keys are never either.
    const isSure = localField === '_id' || foreignField === '_id';
    const inner = isSure ? pipeline : [{ $match: { [foreignField]: { $ne: null } } }, ...pipeline];
    const from = collectionName(meta);
    this.#looked.stages.push({
      $lookup: { from, localField, foreignField, as, ...(inner.length > 0 && { pipeline: inner }) },
    });
    return as;
  }

  protected makeFilterScope(prefix: string): MongoScope {
    return new MongoScope(this.context, this.meta, prefix, { sharedScope: this });
  }

  protected columnIn(joined: string, property: EntityProperty): string {
    return joined + columnOf(property);
  }

  /** If the related record is read anyway, its key is taken from it, so that both are present or neither. */
  protected override isHeld(steps: readonly EntityProperty[]): boolean {
    return super.isHeld(steps) && !this.hasJoined(steps);
  }

  protected addJoin(steps: readonly EntityProperty[]): string {
    const step = steps.at(-1) as EntityProperty;
    const meta = step.targetMeta as EntityMetadata;
    const owner = this.join(steps.slice(0, -1));
    const { ownerField, field } = fieldTie(step);
    const filter = this.filterOf(steps);
    const pipeline: Document[] = [];
    if (filter !== undefined) {
      const inner = new MongoScope(this.context, meta, `${this.keyOf(steps)}.`);
      const match = this.context.conditionFilter(inner, filter.condition);
      pipeline.push(...inner.takeStages(), { $match: match });
    }
    const as = this.addLookup({ meta, localField: owner + ownerField, foreignField: field }, pipeline);
    this.#looked.stages.push({ $unwind: { path: `$${as}`, preserveNullAndEmptyArrays: true } });
    return `${as}.`;
  }
}
