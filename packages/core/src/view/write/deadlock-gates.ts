/** The number of units of work without a deadlock after which twice as many may run at once. */
const FIRST_STREAK = 10;
const LONGEST_STREAK = 10_000;
/** The number of units at once with which a route is free again. */
const FREE = 64;
/** The longest wait for a place, in milliseconds. A unit of work may itself wait for one that waits here. */
const PATIENCE_MS = 5000;

/** Limits how many units of work of one route run at once. */
interface Gate {
  limit: number;
  running: number;
  /** The number of units that must succeed in a row before the limit is doubled. */
  streak: number;
  succeeded: number;
  readonly waiting: (() => void)[];
}

/**
 * Limits the units of work of routes whose transactions have waited for each other. A deadlock costs the time that the
 * database takes to notice it, in which all of them hold their connections. So after a deadlock the route's units run
 * one at a time in this process. The number is doubled after each streak of units without one. Each deadlock doubles
 * the streak. Routes without deadlocks are not limited.
 */
export class DeadlockGates {
  readonly #gates = new Map<string, Gate>();

  /**
   * Runs a unit of work of a route.
   *
   * @param isDeadlock tells if an error of the unit means a deadlock
   */
  async run<Result>(
    route: () => string,
    work: () => Promise<Result>,
    isDeadlock: (error: unknown) => boolean,
  ): Promise<Result> {
    // Fastify makes the options of a route anew for each reader.
    const gate = this.#gates.size === 0 ? undefined : this.#gates.get(route());
    if (gate !== undefined) await enter(gate);
    try {
      const result = await work();
      if (gate !== undefined) this.#succeed(route(), gate);
      return result;
    } catch (error) {
      if (isDeadlock(error)) this.#close(route());
      throw error;
    } finally {
      if (gate !== undefined) leave(gate);
    }
  }

  #close(route: string): void {
    let gate = this.#gates.get(route);
    if (gate === undefined) {
      gate = { limit: 1, running: 0, streak: FIRST_STREAK / 2, succeeded: 0, waiting: [] };
      this.#gates.set(route, gate);
    }
    gate.limit = 1;
    gate.succeeded = 0;
    gate.streak = Math.min(2 * gate.streak, LONGEST_STREAK);
  }

  #succeed(route: string, gate: Gate): void {
    gate.succeeded += 1;
    if (gate.succeeded < gate.streak) return;
    gate.succeeded = 0;
    gate.limit *= 2;
    if (gate.limit >= FREE && this.#gates.get(route) === gate) this.#gates.delete(route);
  }
}

async function enter(gate: Gate): Promise<void> {
  if (gate.running >= gate.limit) {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.waiting.push(resolve);
    const timer = setTimeout(resolve, PATIENCE_MS);
    await promise;
    clearTimeout(timer);
    const index = gate.waiting.indexOf(resolve);
    if (index >= 0) gate.waiting.splice(index, 1);
  }
  gate.running += 1;
}

function leave(gate: Gate): void {
  gate.running -= 1;
  const free = gate.limit - gate.running;
  for (const next of gate.waiting.splice(0, Math.max(0, free))) next();
}
