import type { Shop } from '../test/support/shop.ts';
import { Balancer } from './balancer.ts';
import { Journal } from './journal.ts';
import { Ledger } from './ledger.ts';
import { LoadClient } from './load-client.ts';
import { Phase } from './phase.ts';

/** So many requests are under way at any time. */
const CLIENTS = 12;
/** `error` in the shop's log. */
const ERROR_LEVEL = 50;

/** Shops, a balancer before them, and the clients that keep them busy. */
export class Arena {
  readonly ledger = new Ledger();
  readonly #journal = new Journal();
  readonly #balancer: Balancer;
  readonly #all: Shop[];
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(shops: readonly Shop[]) {
    this.#balancer = new Balancer(shops);
    this.#all = [...shops];
  }

  /** Those that take part. */
  get shops(): readonly Shop[] {
    return this.#balancer.shops;
  }

  async begin(): Promise<void> {
    const token = await this.shops[0]!.login();
    const parts = { balancer: this.#balancer, journal: this.#journal, ledger: this.ledger };
    const clients = Array.from({ length: CLIENTS }, (_, index) => new LoadClient(`c${index}`, token, parts));
    const { signal } = this.#stop;
    this.#running = Promise.all([this.#balancer.run(signal), ...clients.map((client) => client.run(signal))]);
  }

  /** Ends the load after every request has its response. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  replace(old: Shop, shop: Shop): void {
    this.#balancer.replace(old, shop);
    this.#all.push(shop);
  }

  /** The requests sent during a phase, with their responses. */
  async during(name: string, happen: () => Promise<void>): Promise<Phase> {
    const from = performance.now();
    await happen();
    await this.answered(from);
    const to = performance.now();
    await this.#journal.settled(to);
    return Phase.between(name, this.#journal, from, to);
  }

  /** Waits until each shop has responded to a request sent since then: a busy machine takes longer than a phase does. */
  answered(since: number): Promise<void> {
    return this.#journal.answered(since, this.shops);
  }

  /** The entries of the shops' logs at level error or above. */
  faults(): unknown[] {
    return this.#all.flatMap(({ process }) => process.log.filter(({ level }) => level >= ERROR_LEVEL));
  }
}
