import type { FilterOptions } from '@mikro-orm/core';
import { isDeepStrictEqual } from 'node:util';
import { type Condition, isSameCondition } from '../../language/condition.ts';

/** The records that a look-up is about. */
interface Records {
  readonly meta: object;
  readonly condition: Condition;
  readonly filters: FilterOptions | undefined;
}

interface LookUp {
  readonly records: Records;
  readonly how: string;
  readonly found: Promise<unknown>;
}

/** The look-ups of a request that asks in the place of several others, as OPTIONS does: each is made once. */
export class SharedLookUps {
  readonly #made: LookUp[] = [];

  /**
   * Returns what a look-up of the same records has found, or makes it.
   *
   * @param how tells apart look-ups of the same records
   */
  async find<Found>(records: Records, how: string, lookUp: () => Promise<Found>): Promise<Found> {
    const same = this.#made.find((each) => each.how === how && areSame(each.records, records));
    if (same !== undefined) return (await same.found) as Found;
    const found = lookUp();
    this.#made.push({ records, how, found });
    return found;
  }
}

function areSame(one: Records, other: Records): boolean {
  return (
    one.meta === other.meta &&
    isDeepStrictEqual(one.filters, other.filters) &&
    isSameCondition(one.condition, other.condition)
  );
}
