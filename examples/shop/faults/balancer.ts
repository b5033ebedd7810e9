import type { Shop } from '../test/support/shop.ts';

/** How often each shop is asked whether it is ready. */
const PROBE_MS = 100;

/**
 * What stands before several shops in production: it asks each one's `/health/ready`, and sends requests in turn to
 * those that take part. A shop that is not ready because a store is down still gets its share, as there is no better.
 */
export class Balancer {
  #shops: Shop[];
  #turn = 0;
  /** Those that said that they are stopping, or did not answer. */
  readonly #away = new Set<Shop>();

  constructor(shops: readonly Shop[]) {
    this.#shops = [...shops];
  }

  get shops(): readonly Shop[] {
    return this.#shops;
  }

  next(): Shop {
    const here = this.#shops.filter((shop) => !this.#away.has(shop));
    const shops = here.length === 0 ? this.#shops : here;
    this.#turn += 1;
    return shops[this.#turn % shops.length]!;
  }

  replace(old: Shop, shop: Shop): void {
    this.#shops = this.#shops.map((one) => (one === old ? shop : one));
  }

  /** Probes until it is told to stop. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await Promise.all(this.#shops.map((shop) => this.#probe(shop)));
      await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
    }
  }

  async #probe(shop: Shop): Promise<void> {
    try {
      const { status } = await shop.get('/health/ready');
      if (status === 200) this.#away.delete(shop);
      else this.#away.add(shop);
    } catch {
      this.#away.add(shop);
    }
  }
}
