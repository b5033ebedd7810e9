/**
 * The shortest time, in milliseconds, that each of several pieces of work took, in rounds that take them in turn: on a
 * machine that is busy with something else, the least is what the work itself needs.
 */
export async function leastTimes(works: readonly (() => Promise<unknown>)[], rounds = 11): Promise<number[]> {
  const least = works.map(() => Infinity);
  for (let round = 0; round < rounds; round++) {
    for (const [index, work] of works.entries()) {
      const started = performance.now();
      await work();
      least[index] = Math.min(least[index] ?? Infinity, performance.now() - started);
    }
  }
  return least;
}
