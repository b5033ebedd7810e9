import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isPromise } from '../support/awaitable.ts';
import { abortRequest } from '../http/abort-state.ts';
import { ResponseProgress, type LeastRate, waitsForClient } from './response-progress.ts';

/** A request in flight. */
export interface RequestInFlight {
  /** The requests that it counts among: each scope with the plugin has its own. */
  readonly among: RequestsInFlight;
  readonly reply: FastifyReply;
  /** The tick of the clock at the request's arrival, or when it was given up. */
  since: number;
  /** False for health routes, and for parts of a request. */
  readonly takesSlot: boolean;
  phase: 'working' | 'receiving' | 'sending' | 'streaming' | 'left';
  /** How fast the client reads the answer. Set once the answer had to wait for the client. */
  progress: ResponseProgress | undefined;
  /** The value that the handler returned. Set once the handler has been called. */
  work: unknown;
  isClosed: boolean;
  isAborted: boolean;
  /** True once the handler is done and `request.em` was found without unflushed changes. */
  isFlushed: boolean;
  /** The index of the request in the list of all. */
  index: number;
}

const IN_FLIGHT: unique symbol = Symbol('viewset.in-flight');

/** A request that may be in flight. Fastify sets the property on every request. */
export type Admitted = FastifyRequest & { [IN_FLIGHT]?: RequestInFlight | null };

/** Makes room for the state of a request in flight. */
export function decorateInFlight(app: FastifyInstance): void {
  app.decorateRequest(IN_FLIGHT, null);
}

/** Returns the state of a request in flight; undefined before its admission. */
export function inFlightOf(request: Admitted): RequestInFlight | undefined {
  return request[IN_FLIGHT] ?? undefined;
}

export function setInFlight(request: Admitted, inFlight: RequestInFlight): void {
  request[IN_FLIGHT] = inFlight;
}

/**
 * The requests in flight, and the slots of working requests.
 *
 * A request takes a slot while work may be done for it. It has none while its body arrives. That costs only memory, and
 * may last as long as the client likes. As many requests as there are slots may receive a body. A request frees its
 * slot once its answer waits for a client that does not read it. The same number applies to these. If a client
 * disconnects, its transaction ends, but other work of the request goes on. So the request keeps its slot until its
 * handler is done.
 */
export class RequestsInFlight {
  readonly #slots: number;
  readonly #onLeave: (request: RequestInFlight) => void;
  readonly #all: RequestInFlight[] = [];
  /** In order of arrival. */
  readonly #receiving = new Set<RequestInFlight>();
  /** Requests whose answers wait or have waited for their clients, in the order in which they began to wait. */
  readonly #sending = new Set<RequestInFlight>();
  #taken = 0;
  #ticks = 0;

  /** @param onLeave called once for each request, after its response */
  constructor(slots: number, onLeave: (request: RequestInFlight) => void) {
    this.#slots = slots;
    this.#onLeave = onLeave;
  }

  get isFull(): boolean {
    return this.#taken >= this.#slots;
  }

  enter(reply: FastifyReply, takesSlot: boolean): RequestInFlight {
    const request: RequestInFlight = {
      among: this,
      reply,
      since: this.#ticks,
      takesSlot,
      phase: 'working',
      progress: undefined,
      work: undefined,
      isClosed: false,
      isAborted: false,
      isFlushed: false,
      index: this.#all.length,
    };
    this.#all.push(request);
    if (takesSlot) this.#taken += 1;
    // Fastify does not call onResponse after a client disconnects.
    reply.raw.on('close', () => this.#close(request));
    return request;
  }

  /**
   * Frees the slot of a request whose body is not complete. If too many bodies are arriving, returns the request that
   * has been sending its body longest.
   */
  beginBody(request: RequestInFlight): RequestInFlight | undefined {
    if (request.phase !== 'working' || !request.takesSlot) return undefined;
    this.#taken -= 1;
    request.phase = 'receiving';
    this.#receiving.add(request);
    if (this.#receiving.size <= this.#slots) return undefined;
    const [slowest] = this.#receiving;
    return slowest;
  }

  /** Takes a slot again for a request with a complete body. Returns false if no slot is free. */
  endBody(request: RequestInFlight): boolean {
    if (request.phase !== 'receiving') return true;
    if (this.isFull) return false;
    this.#receiving.delete(request);
    this.#taken += 1;
    request.phase = 'working';
    return true;
  }

  /** Frees the slot of a request with a long-lasting answer. The client must still read the answer fast enough. */
  beginStream(request: RequestInFlight): void {
    if (request.phase !== 'working') return;
    if (request.takesSlot) this.#taken -= 1;
    request.phase = 'streaming';
  }

  /** Stores the result of the handler. If its client is gone, the request is done once that result settles. */
  beginWork(request: RequestInFlight, work: unknown): void {
    // A reply can be awaited, but adds nothing to its known state.
    request.work = work === request.reply ? undefined : work;
    if (request.isClosed) this.#leaveWhenDone(request);
  }

  /** Counts a tick, so that the clock is not read for each request. */
  tick(): void {
    this.#ticks += 1;
  }

  /**
   * Frees the slots of answers that wait for their clients. Yields the requests whose clients read too slowly. If too
   * many answers wait, also yields those that have been sending longest.
   */
  *slowReaders(least: LeastRate): Generator<RequestInFlight> {
    for (const request of this.#all.slice()) {
      const { raw } = request.reply;
      if (request.phase === 'left' || request.isClosed) continue;
      if (request.progress === undefined && !waitsForClient(raw)) continue;
      if (request.phase === 'working') this.#beginSending(request);
      request.progress ??= new ResponseProgress(raw, this.#ticks);
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
   * Gives up requests that arrived more than `ticks` ago. Yields those whose clients are still connected. Later work of
   * a handler is rolled back, so it keeps its slot for the same time again at most.
   */
  *giveUpOlderThan(ticks: number): Generator<RequestInFlight> {
    for (const request of this.#all.slice()) {
      if (this.#ticks - request.since <= ticks) continue;
      if (request.isAborted) {
        this.#leave(request);
        continue;
      }
      const { reply } = request;
      // Once an answer has begun, it has no time limit.
      if (reply.sent || reply.raw.headersSent) continue;
      request.isAborted = true;
      request.since = this.#ticks;
      abortRequest(reply.request);
      if (!request.isClosed) yield request;
    }
  }

  #close(request: RequestInFlight): void {
    request.isClosed = true;
    const isBodyLost = request.phase === 'receiving';
    const isAnswered = request.reply.sent && !request.isAborted;
    if (isBodyLost || isAnswered) this.#leave(request);
    else this.#leaveWhenDone(request);
    // The client does not learn the result, so the request must have none.
    if (!request.reply.sent) abortRequest(request.reply.request);
  }

  #leaveWhenDone(request: RequestInFlight): void {
    const leave = (): void => this.#leave(request);
    const { work, reply } = request;
    if (isPromise(work)) {
      work.then(leave, leave);
    } else if (reply.sent) {
      leave();
    } else {
      // No event reports an answer that ends after its connection.
      const { raw } = reply;
      const end = raw.end.bind(raw) as (...args: unknown[]) => typeof raw;
      raw.end = (...args: unknown[]) => {
        leave();
        return end(...args);
      };
    }
  }

  /** Does nothing for a request that has already left. */
  #leave(request: RequestInFlight): void {
    if (request.phase === 'left') return;
    if (request.phase === 'receiving') this.#receiving.delete(request);
    else if (request.phase === 'sending') this.#sending.delete(request);
    else if (request.phase === 'working' && request.takesSlot) this.#taken -= 1;
    request.phase = 'left';
    this.#onLeave(request);
    const last = this.#all.pop()!;
    if (last === request) return;
    this.#all[request.index] = last;
    last.index = request.index;
  }
}
