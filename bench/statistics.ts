export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle]!;
  return sorted.length === 0 ? NaN : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The median of some values, and the two values between which the middle half of them lies. */
export interface Quartiles {
  readonly lower: number;
  readonly median: number;
  readonly upper: number;
}

export function quartiles(values: readonly number[]): Quartiles {
  const sorted = values.toSorted((a, b) => a - b);
  const below = Math.floor((sorted.length - 1) / 4);
  return { lower: sorted.at(below) ?? NaN, median: median(sorted), upper: sorted.at(-1 - below) ?? NaN };
}

/** The quotients of the values that were measured next to each other. */
export function quotients(numerators: readonly number[], denominators: readonly number[]): number[] {
  return numerators.map((numerator, round) => numerator / denominators[round]!);
}

/** The median of the quotients of the values that were measured next to each other. */
export function medianRatio(numerators: readonly number[], denominators: readonly number[]): number {
  return median(quotients(numerators, denominators));
}

/** `[a, b, c]` turned so that the element at `by` comes first: who begins changes from round to round. */
export function rotated<Element>(elements: readonly Element[], by: number): Element[] {
  const first = by % elements.length;
  return [...elements.slice(first), ...elements.slice(0, first)];
}
