import type { Basket } from '../schemas.ts';

export type BasketRow = [id: number, name: string, ...count: [string?]];
export type LineRow = [basket: number, id: number, name: string, amount: number];
export type LabelRow = [basket: number, name: string];

/** Puts lines and labels into their baskets. */
export function toBaskets(
  rows: readonly BasketRow[],
  lines: readonly LineRow[],
  labels: readonly LabelRow[],
): Basket[] {
  const baskets = new Map<number, Basket>();
  for (const [id, name] of rows) baskets.set(id, { id, name, lines: [], labels: [] });
  for (const [basket, id, name, amount] of lines) baskets.get(basket)!.lines.push({ id, name, amount });
  for (const [basket, name] of labels) baskets.get(basket)!.labels.push(name);
  return [...baskets.values()];
}
