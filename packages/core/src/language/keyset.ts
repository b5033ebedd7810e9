import type { Condition } from './condition.ts';
import { reversed, type OrderKey } from './order.ts';

/**
 * True of the records that come after a given one in an order; the keys must make the order total (`totalOrder()`).
 * @param values what `orderValues(keys)` read from that record, one for each key
 */
export function after(keys: readonly OrderKey[], values: readonly unknown[]): Condition {
  if (keys.length === 0 || keys.length !== values.length) {
    throw new RangeError(
      `after() takes one value for each key of the order: ${keys.length} keys, ${values.length} values`,
    );
  }
  return { kind: 'after', keys, values };
}

/** True of the records that come before a given one in an order. */
export function before(keys: readonly OrderKey[], values: readonly unknown[]): Condition {
  return after(reversed(keys), values);
}
