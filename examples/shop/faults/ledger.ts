/** What a client knows of one record that it alone writes. */
interface Entry {
  /** What the last acknowledged write left; undefined once its deletion was acknowledged. */
  stock: number | undefined;
  /** Writes since then whose outcome nobody was told: a commit may have gone through before its answer was lost. */
  unsure: (number | undefined)[];
}

/**
 * What clients were promised: every write that was acknowledged, and every one that may have happened all the same.
 * Compared with the database itself at the end.
 */
export class Ledger {
  readonly #entries = new Map<number, Entry>();
  acknowledged = 0;

  created(id: number, stock: number): void {
    this.acknowledged += 1;
    this.#entries.set(id, { stock, unsure: [] });
  }

  /** A write of this stock, or undefined for a deletion, that was answered with success. */
  written(id: number, stock: number | undefined): void {
    this.acknowledged += 1;
    this.#entries.set(id, { stock, unsure: [] });
  }

  /** A write that was answered with an error, or not at all. */
  unsure(id: number, stock: number | undefined): void {
    this.#entries.get(id)?.unsure.push(stock);
  }

  /**
   * A sentence for each record that is not as it was acknowledged.
   *
   * @param rows all products of the database
   */
  losses(rows: readonly { readonly id: number; readonly stock: number }[]): string[] {
    const stored = new Map(rows.map(({ id, stock }) => [id, stock]));
    return [...this.#entries].flatMap(([id, { stock, unsure }]) => {
      const found = stored.get(id);
      return found === stock || unsure.includes(found) ? [] : [`product ${id}: ${found} instead of ${stock}`];
    });
  }
}
