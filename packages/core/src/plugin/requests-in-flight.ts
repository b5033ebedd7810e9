import type { FastifyReply } from 'fastify';
import { isPromise } from '../awaitable.ts';
import { giveUp } from '../given-up.ts';
import { AnswerProgress, type LeastRate, waitsForClient } from './answer-progress.ts';

/** A request that came in and is not done with. */
export interface RequestInFlight {
  readonly reply: FastifyReply;
  /** The tick of the clock in which the request came in. */
  since: number;
  /** Health routes take no slot. */
  readonly takesSlot: boolean;
  phase: 'working' | 'receiving' | 'sending' | 'streaming' | 'left';
  /** How quickly the client takes the answer, once it has had to be waited for. */
  progress: AnswerProgress | undefined;
  /** The value that the handler returned, once the handler has been called. */
  work: unknown;
  isClosed: boolean;
  isGivenUp: boolean;
  /** The place of the request in the list of all. */
  index: number;
}

/**
 * The requests in flight, and the slots of those that work.
 *
 * A request takes a slot while anything may be done for it. It has none while its body comes in, which costs no more
 * than memory and lasts as long as its client likes; as many requests may do that as there are slots. It gives its slot back
 * once its answer waits for a client that does not read it: as many may do that, too. A client that goes
 * away ends its transaction and no more of what was begun for it, so its request keeps the slot until its handler is done.
 */
export class RequestsInFlight {
  readonly #slots: number;
  readonly #all: RequestInFlight[] = [];
  /** In the order in which they came. */
  readonly #receiving = new Set<RequestInFlight>();
  /** Those whose answers wait or have waited for their clients, in the order in which they began to. */
  readonly #sending = new Set<RequestInFlight>();
  #taken = 0;
  #ticks = 0;

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** Tells whether every slot is taken. */
  get isFull(): boolean {
    return this.#taken >= this.#slots;
  }

  enter(reply: FastifyReply, takesSlot: boolean): RequestInFlight {
    const request: RequestInFlight = {
      reply,
      since: this.#ticks,
      takesSlot,
      phase: 'working',
      progress: undefined,
      work: undefined,
      isClosed: false,
      isGivenUp: false,
      index: this.#all.length,
    };
    this.#all.push(request);
    if (takesSlot) this.#taken += 1;
    // Not onResponse, which Fastify does not call for a client that went away.
    reply.raw.on('close', () => this.#close(request));
    return request;
  }

  /** Frees the slot of a request whose body is still to come. Returns the one that has been sending longest, if there are too many. */
  beginBody(request: RequestInFlight): RequestInFlight | undefined {
    if (request.phase !== 'working' || !request.takesSlot) return undefined;
    this.#taken -= 1;
    request.phase = 'receiving';
    this.#receiving.add(request);
    if (this.#receiving.size <= this.#slots) return undefined;
    const [slowest] = this.#receiving;
    return slowest;
  }

  /** Takes a slot again for a request whose body is there. Returns false if there is none. */
  endBody(request: RequestInFlight): boolean {
    if (request.phase !== 'receiving') return true;
    if (this.isFull) return false;
    this.#receiving.delete(request);
    this.#taken += 1;
    request.phase = 'working';
    return true;
  }

  /** Frees the slot of a request whose answer lasts. What is still sent of it must be read no more slowly than any answer. */
  beginStream(request: RequestInFlight): void {
    if (request.phase !== 'working') return;
    if (request.takesSlot) this.#taken -= 1;
    request.phase = 'streaming';
  }

  /** Notes what a handler returned: a request whose client is gone is done when that is settled. */
  beginWork(request: RequestInFlight, work: unknown): void {
    // A reply can be awaited, and says no more than what is known of it already.
    request.work = work === request.reply ? undefined : work;
    if (request.isClosed) this.#leaveWhenDone(request);
  }

  /** Lets the time of one tick pass, so that no clock is read for each request. */
  tick(): void {
    this.#ticks += 1;
  }

  /**
   * Frees the slots of answers that wait for their clients. Yields those whose clients take less than they have to, and
   * those that have been sending longest if there are too many.
   */
  *slowReaders(least: LeastRate): Generator<RequestInFlight> {
    for (const request of this.#all.slice()) {
      const { raw } = request.reply;
      if (request.phase === 'left' || request.isClosed) continue;
      if (request.progress === undefined && !waitsForClient(raw)) continue;
      if (request.phase === 'working') this.#beginSending(request);
      request.progress ??= new AnswerProgress(raw, this.#ticks);
      if (request.progress.isTooSlow(this.#ticks, least)) yield request;
    }
    let tooMany = this.#sending.size - this.#slots;
    for (const request of this.#sending) {
      if (tooMany-- <= 0) return;
      yield request;
    }
  }

  #beginSending(request: RequestInFlight): void {
    if (request.takesSlot) this.#taken -= 1;
    request.phase = 'sending';
    this.#sending.add(request);
  }

  /**
   * Gives up the requests that came more than so many ticks ago, and answers with those whose clients still wait. What
   * a handler does after that is rolled back, so its slot is kept for as long again at most.
   */
  *giveUpOlderThan(ticks: number): Generator<RequestInFlight> {
    for (const request of this.#all.slice()) {
      if (this.#ticks - request.since <= ticks) continue;
      if (request.isGivenUp) {
        this.#leave(request);
        continue;
      }
      const { reply } = request;
      // An answer that has begun may take as long as it takes.
      if (reply.sent || reply.raw.headersSent) continue;
      request.isGivenUp = true;
      request.since = this.#ticks;
      giveUp(reply.request);
      if (!request.isClosed) yield request;
    }
  }

  #close(request: RequestInFlight): void {
    request.isClosed = true;
    const isBodyLost = request.phase === 'receiving';
    const isAnswered = request.reply.sent && !request.isGivenUp;
    if (isBodyLost || isAnswered) this.#leave(request);
    else this.#leaveWhenDone(request);
    // Nobody learns what comes of the request, so nothing may come of it.
    if (!request.reply.sent) giveUp(request.reply.request);
  }

  #leaveWhenDone(request: RequestInFlight): void {
    const leave = (): void => this.#leave(request);
    const { work, reply } = request;
    if (isPromise(work)) {
      work.then(leave, leave);
    } else if (reply.sent) {
      leave();
    } else {
      // Nothing is emitted by an answer that ends after its connection has.
      const { raw } = reply;
      const end = raw.end.bind(raw) as (...args: unknown[]) => typeof raw;
      raw.end = (...args: unknown[]) => {
        leave();
        return end(...args);
      };
    }
  }

  /** Does nothing for a request that has left. */
  #leave(request: RequestInFlight): void {
    if (request.phase === 'left') return;
    if (request.phase === 'receiving') this.#receiving.delete(request);
    else if (request.phase === 'sending') this.#sending.delete(request);
    else if (request.phase === 'working' && request.takesSlot) this.#taken -= 1;
    request.phase = 'left';
    const last = this.#all.pop()!;
    if (last === request) return;
    this.#all[request.index] = last;
    last.index = request.index;
  }
}
