import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { holdsKeys, isReference, ownsColumn, referredKey } from '../fields/property.ts';
import type { FilterScope } from '../query/language/condition.ts';
import { filterScopePrefix, type RelatedFilter, type RelatedFilters } from './entity-filters.ts';

/**
 * The records of one part of a command, with joins to their to-one relations. All users of a relation share one join.
 * This class decides which join has a column; each kind of database writes the joins and columns.
 */
export abstract class Scope<Self extends Scope<Self, Joined>, Joined> {
  readonly meta: EntityMetadata;
  readonly #related: RelatedFilters | undefined;
  readonly #prefix: string;
  readonly #sharedScope: Self | undefined;
  #joined: Map<string, Joined> | undefined;
  #filterScope: Partial<Record<FilterScope, Self>> | undefined;

  /**
   * @param prefix the path from the root of the command to here, with a dot at its end; empty at the root
   * @param sharedScope the scope whose records this separate scope shares
   */
  constructor(
    meta: EntityMetadata,
    related: RelatedFilters | undefined,
    prefix: string,
    sharedScope: Self | undefined,
  ) {
    this.meta = meta;
    this.#related = related;
    this.#prefix = prefix;
    this.#sharedScope = sharedScope;
  }

  /** The join for an empty path: the records themselves. */
  protected abstract readonly root: Joined;
  /** Makes a scope for the same records with another prefix. */
  protected abstract makeFilterScope(prefix: string): Self;
  /** Adds the join for a path of to-one relations. */
  protected abstract addJoin(steps: readonly EntityProperty[]): Joined;
  /** Returns the column of a property in a join. */
  protected abstract columnIn(joined: Joined, property: EntityProperty): string;

  /**
   * Returns a scope for the same records, with its own joins to related records, because other related records are
   * hidden there.
   */
  filterScope(place: FilterScope): Self {
    if (this.#related === undefined) return this as unknown as Self;
    return ((this.#filterScope ??= {})[place] ??= this.makeFilterScope(filterScopePrefix(this.#prefix, place)));
  }

  /** Returns the path of relations from the root of the command. */
  keyOf(steps: readonly EntityProperty[]): string {
    return this.#prefix + namesOf(steps);
  }

  /** Returns the filter for the records at the end of a path. */
  filterOf(steps: readonly EntityProperty[]): RelatedFilter | undefined {
    return this.#related?.get(this.keyOf(steps));
  }

  /** Lists the references whose target must be visible for the record to be visible. */
  required(): readonly EntityProperty[] {
    if (this.#related === undefined) return [];
    return this.meta.relations.filter(
      (property) => ownsColumn(property) && this.filterOf([property])?.required === true,
    );
  }

  /** Returns the column of a property at the end of to-one relations. */
  column(steps: readonly EntityProperty[], property: EntityProperty): string {
    const last = steps.at(-1);
    if (
      last !== undefined &&
      this.isHeld(steps) &&
      referredKey(last) === property &&
      this.filterOf(steps) === undefined
    ) {
      return this.column(steps.slice(0, -1), last);
    }
    // A reference to a hidden record reads as NULL.
    const isOne = isReference(property) && !holdsKeys(property);
    const isHidden = isOne && this.filterOf([...steps, property]) !== undefined;
    return isHidden
      ? this.storedColumn([...steps, property], referredKey(property))
      : this.storedColumn(steps, property);
  }

  /** Returns the stored column, even if a filter hides the record that it refers to. */
  storedColumn(steps: readonly EntityProperty[], property: EntityProperty): string {
    return this.columnIn(this.join(steps), property);
  }

  /** Returns the join for a path of to-one relations. */
  join(steps: readonly EntityProperty[]): Joined {
    if (steps.length === 0) return this.root;
    if (this.#sharedScope !== undefined && this.#hidesAs(this.#sharedScope, steps)) {
      return this.#sharedScope.join(steps);
    }
    const key = namesOf(steps);
    let joined = this.#joined?.get(key);
    if (joined === undefined) (this.#joined ??= new Map<string, Joined>()).set(key, (joined = this.addJoin(steps)));
    return joined;
  }

  protected hasJoined(steps: readonly EntityProperty[]): boolean {
    return this.#joined?.has(namesOf(steps)) === true;
  }

  /**
   * True if the last reference of a path is guaranteed to refer to an existing record. Then its column can be read
   * instead of that record's key.
   */
  protected isHeld(steps: readonly EntityProperty[]): boolean {
    const step = steps.at(-1) as EntityProperty;
    return ownsColumn(step) && step.createForeignKeyConstraint;
  }

  /** True if both scopes hide the same records at every step of a path. */
  #hidesAs(other: Self, steps: readonly EntityProperty[]): boolean {
    return steps.every((_, index) => {
      const path = steps.slice(0, index + 1);
      return this.filterOf(path)?.condition === other.filterOf(path)?.condition;
    });
  }
}

function namesOf(steps: readonly EntityProperty[]): string {
  return steps.map(({ name }) => name).join('.');
}
