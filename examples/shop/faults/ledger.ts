/** The knowledge of a client about a record that only this client writes. */
interface Entry {
  /** The state after the last acknowledged write; undefined after an acknowledged deletion. */
  stock: number | undefined;
  /** Later writes with an unknown outcome: a commit may have succeeded before its response was lost. */
  unsure: (number | undefined)[];
}

/**
 * The expected records of all clients: every acknowledged write, and every write that may have succeeded without a response. Compared with
 * the database at the end.
 */
export class Ledger {
  readonly #entries = new Map<number, Entry>();
  acknowledged = 0;

  created(id: number, stock: number): void {
    this.acknowledged += 1;
    this.#entries.set(id, { stock, unsure: [] });
  }

  /** A write of this stock, or undefined for a deletion, that succeeded. */
  written(id: number, stock: number | undefined): void {
    this.acknowledged += 1;
    this.#entries.set(id, { stock, unsure: [] });
  }

  /** A write that returned an error or got no response. */
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
