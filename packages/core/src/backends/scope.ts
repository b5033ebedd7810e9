import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { holdsKeys, isReference, ownsColumn, referredKey } from '../fields/property.ts';
import type { PlaceApart } from '../language/condition.ts';
import { placeApart, type RelatedFilter, type RelatedFilters } from './entity-filters.ts';

/**
 * The records that a part of a command reads, with the to-one relations joined to them: one join for a relation, whoever needs it. Says
 * which join has a column; a kind of database writes the joins and the columns.
 */
export abstract class Scope<Own extends Scope<Own, Joined>, Joined> {
  readonly meta: EntityMetadata;
  readonly #related: RelatedFilters | undefined;
  readonly #prefix: string;
  readonly #whole: Own | undefined;
  #joined: Map<string, Joined> | undefined;
  #apart: Partial<Record<PlaceApart, Own>> | undefined;

  /**
   * @param prefix the path that leads here from the root of the command, with a dot at its end; empty at the root
   * @param whole the scope that this is a place apart of
   */
  constructor(meta: EntityMetadata, related: RelatedFilters | undefined, prefix: string, whole: Own | undefined) {
    this.meta = meta;
    this.#related = related;
    this.#prefix = prefix;
    this.#whole = whole;
  }

  /** What a join of no relation has: the records themselves. */
  protected abstract readonly root: Joined;
  /** Makes a scope of the same records that leads on from another path. */
  protected abstract makeApart(prefix: string): Own;
  /** Writes the join of a path of to-one relations. */
  protected abstract addJoin(steps: readonly EntityProperty[]): Joined;
  /** The column of a property of the records of a join. */
  protected abstract columnIn(joined: Joined, property: EntityProperty): string;

  /** The same records, with joins of its own to related records of which other ones are hidden. */
  apart(place: PlaceApart): Own {
    if (this.#related === undefined) return this as unknown as Own;
    return ((this.#apart ??= {})[place] ??= this.makeApart(placeApart(this.#prefix, place)));
  }

  /** The path of relations from the root of the command. */
  keyOf(steps: readonly EntityProperty[]): string {
    return this.#prefix + namesOf(steps);
  }

  /** The filter that records at the end of a path must pass. */
  filterOf(steps: readonly EntityProperty[]): RelatedFilter | undefined {
    return this.#related?.get(this.keyOf(steps));
  }

  /** Lists the references to records without which a record is hidden itself. */
  required(): readonly EntityProperty[] {
    if (this.#related === undefined) return [];
    return this.meta.relations.filter(
      (property) => ownsColumn(property) && this.filterOf([property])?.required === true,
    );
  }

  /** The column of a property at the end of to-one relations. */
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
    // A reference to a record that its own filters hide reads as NULL.
    const isOne = isReference(property) && !holdsKeys(property);
    const isHidden = isOne && this.filterOf([...steps, property]) !== undefined;
    return isHidden
      ? this.storedColumn([...steps, property], referredKey(property))
      : this.storedColumn(steps, property);
  }

  /** The column as it is stored, whatever a filter makes of what it refers to. */
  storedColumn(steps: readonly EntityProperty[], property: EntityProperty): string {
    return this.columnIn(this.join(steps), property);
  }

  /** Joins a path of to-one relations. */
  join(steps: readonly EntityProperty[]): Joined {
    if (steps.length === 0) return this.root;
    if (this.#whole !== undefined && this.#hidesAs(this.#whole, steps)) return this.#whole.join(steps);
    const key = namesOf(steps);
    let joined = this.#joined?.get(key);
    if (joined === undefined) (this.#joined ??= new Map<string, Joined>()).set(key, (joined = this.addJoin(steps)));
    return joined;
  }

  /** True if a path was joined. */
  protected hasJoined(steps: readonly EntityProperty[]): boolean {
    return this.#joined?.has(namesOf(steps)) === true;
  }

  /** True if the last reference of a path holds the key of a record that is there, so that it answers for that key. */
  protected isHeld(steps: readonly EntityProperty[]): boolean {
    const step = steps.at(-1) as EntityProperty;
    return ownsColumn(step) && step.createForeignKeyConstraint;
  }

  /** True if the same records are hidden in two places wherever relations lead, one by way of the other. */
  #hidesAs(other: Own, steps: readonly EntityProperty[]): boolean {
    return steps.every((_, index) => {
      const path = steps.slice(0, index + 1);
      return this.filterOf(path)?.condition === other.filterOf(path)?.condition;
    });
  }
}

function namesOf(steps: readonly EntityProperty[]): string {
  return steps.map(({ name }) => name).join('.');
}
