import type { FastifyReply } from 'fastify';

/** A request that came in and is not done with: a link of the chain of all of them. */
interface Flight {
  readonly reply: FastifyReply;
  /** When it came in, in ticks. */
  readonly since: number;
  readonly counted: boolean;
  before: Flight;
  /** Itself, once it has left the chain. */
  after: Flight;
}

/**
 * The requests that are in flight, in the order in which they came. One chain and one listener a request serve whatever
 * wants to know of them: entering and leaving cost the same however many there are.
 */
export class RequestsInFlight {
  #ticks = 0;
  #counted = 0;
  readonly #ends: Flight;

  constructor() {
    const ends = { since: 0, counted: false } as Flight;
    ends.before = ends;
    ends.after = ends;
    this.#ends = ends;
  }

  /** How many requests in flight count. */
  get counted(): number {
    return this.#counted;
  }

  /** A request is in flight until its answer is sent or its connection is gone, whichever happens first. */
  enter(reply: FastifyReply, counted: boolean): void {
    const ends = this.#ends;
    const flight: Flight = { reply, since: this.#ticks, counted, before: ends.before, after: ends };
    flight.before.after = flight;
    ends.before = flight;
    if (counted) this.#counted += 1;
    // Not onResponse: a client that goes away before its answer is done with as well.
    reply.raw.on('close', () => this.#leave(flight));
  }

  /** Time goes on by one tick: reads no clock for each request. */
  tick(): void {
    this.#ticks += 1;
  }

  /** Takes those off the chain that came more than so many ticks ago, the oldest first; they still count. */
  *takeOlderThan(ticks: number): Generator<FastifyReply> {
    for (let flight = this.#ends.after; flight !== this.#ends; flight = this.#ends.after) {
      if (this.#ticks - flight.since <= ticks) return;
      unlink(flight);
      yield flight.reply;
    }
  }

  #leave(flight: Flight): void {
    if (flight.counted) this.#counted -= 1;
    unlink(flight);
  }
}

function unlink(flight: Flight): void {
  flight.before.after = flight.after;
  flight.after.before = flight.before;
  flight.before = flight;
  flight.after = flight;
}
