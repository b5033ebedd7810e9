export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle]!;
  return sorted.length === 0 ? NaN : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The median of the quotients of the values that were measured next to each other. */
export function medianRatio(numerators: readonly number[], denominators: readonly number[]): number {
  return median(numerators.map((numerator, round) => numerator / denominators[round]!));
}

/** `[a, b, c]` turned so that the element at `by` comes first: who begins changes from round to round. */
export function rotated<Element>(elements: readonly Element[], by: number): Element[] {
  const first = by % elements.length;
  return [...elements.slice(first), ...elements.slice(0, first)];
}
