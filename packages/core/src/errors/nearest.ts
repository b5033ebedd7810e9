/**
 * Finds the candidate that a misspelt name most likely means; undefined if none is close. At most `most` characters may
 * have to be inserted, dropped, replaced or swapped with their neighbour. Default: a third of the name's characters, at
 * least two.
 *
 * @example
 * nearest('nmae', ['id', 'name']);   // 'name'
 * nearest('colour', ['id', 'name']); // undefined
 */
export function nearest<Candidate extends string>(
  name: string,
  candidates: Iterable<Candidate>,
  most = Math.max(2, Math.floor(Math.min(name.length, MAX_LENGTH) / 3)),
): Candidate | undefined {
  const wanted = name.slice(0, MAX_LENGTH).toLowerCase();
  let best: Candidate | undefined;
  let least = most + 1;
  for (const candidate of candidates) {
    const other = candidate.slice(0, MAX_LENGTH).toLowerCase();
    if (Math.abs(other.length - wanted.length) >= least) continue;
    const distance = editDistance(wanted, other);
    // Two short words are not "near" if most of their characters differ: "page" does not mean "tag", nor "x" "y".
    const shares = Math.max(wanted.length, other.length) - distance;
    if (distance >= least || shares < 1 || (distance > 1 && shares <= distance)) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

/** Clients send names too, so the work is bounded. */
const MAX_LENGTH = 64;

/** Optimal string alignment: Levenshtein distance, with a swap of neighbours as one edit. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      }
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
