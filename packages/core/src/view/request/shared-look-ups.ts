import type { FilterOptions } from '@mikro-orm/core';
import { isDeepStrictEqual } from 'node:util';
import { type Condition, isSameCondition } from '../../query/language/condition.ts';

/** The records of a look-up. */
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

/** The look-ups of a request that checks several operations, as OPTIONS does. Each runs once. */
export class SharedLookUps {
  readonly #made: LookUp[] = [];

  /**
   * Returns the result of an earlier look-up of the same records, or runs it.
   *
   * @param how distinguishes look-ups of the same records
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
