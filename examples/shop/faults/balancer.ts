import type { Shop } from '../test/support/shop.ts';

/** The interval between two readiness checks of a shop. */
const PROBE_MS = 100;

/**
 * The load balancer that runs in front of several shops in production: it requests `/health/ready` of each shop, and distributes requests
 * to the shops that are ready, in turn. If no shop is ready because a store is down, all of them still get requests.
 */
export class Balancer {
  #shops: Shop[];
  #turn = 0;
  /** The shops that are stopping or did not respond. */
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

  /** Probes the shops until it is stopped. */
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
