import { type EntityManager, TransactionContext } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { thenOrCatch, whenReady } from '../../support/awaitable.ts';
import { HttpError, ImproperlyConfigured, UnprocessableEntity } from '../../errors/errors.ts';
import { checkNotAborted, abortRequest, onAbort } from '../../http/abort-state.ts';
import { holdTransaction } from '../../mikro/held-transaction.ts';
import { checkFlushed } from '../../mikro/unflushed-changes.ts';
import { invalidInput } from '../../schema/error-details.ts';
import { placedError } from '../request/placed-error.ts';
import { faultsIn } from '../request/read-input.ts';
import { stateOf } from '../request/request-state.ts';

/** The options of a part of a request. */
export interface RequestPartOptions {
  /** The request that the part belongs to. */
  readonly outer: FastifyRequest;
  /** False: throttles do not count the part, because they have counted it before. Default: true. */
  readonly isCounted?: boolean;
  /** True: the part is checked, but its handler does not run, and it gives 424. Default: false. */
  readonly isOnlyChecked?: boolean;
}

const PART: unique symbol = Symbol('viewset.part');

interface Carrier {
  [PART]?: RequestPart;
}

/**
 * A request that the application sends to itself as a part of another request. It passes every hook, throttle and check
 * of its route like a request from outside. It shares the transaction of the whole request and ends with it. The route
 * must allow parts (`plan.batchable`); other routes give 422 before their handler runs.
 *
 * `request.em` of a part is a separate entity manager within the transaction of the whole request. Clients cannot make
 * a request a part: only `send` can, by the object of Node's request.
 *
 * @example
 * const part = new RequestPart({ outer: request });
 * // `inject` makes a request, has it claimed, and hands it to `app.routing`.
 * const answer = await part.send((claim) => inject((raw) => claim(raw)));
 */
export class RequestPart {
  readonly outer: FastifyRequest;
  readonly isCounted: boolean;
  readonly isOnlyChecked: boolean;
  /** The error of the response, as it was thrown; undefined if there was none. */
  error: unknown = undefined;
  readonly #em: EntityManager;
  #isAdmitted = false;

  constructor({ outer, isCounted = true, isOnlyChecked = false }: RequestPartOptions) {
    this.outer = outer;
    this.isCounted = isCounted;
    this.isOnlyChecked = isOnlyChecked;
    this.#em = outer.em.fork({ keepTransactionContext: true });
    if (this.#em.isInTransaction()) holdTransaction(this.#em, isHeld);
  }

  /** True after a route of the plugin has accepted the part. A route outside of the plugin's scope never does. */
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  /**
   * Runs a function that sends the part to the application. The function must first call `claim` with the raw request,
   * and must wait for the response.
   */
  send<Result>(hand: (claim: (raw: IncomingMessage) => void) => Promise<Result>): Promise<Result> {
    const claim = (raw: IncomingMessage): void => {
      (raw as Carrier)[PART] = this;
    };
    return TransactionContext.create(this.#em, () => hand(claim));
  }

  /** @internal Binds the part to its entity manager. Throws for a route that accepts no parts. */
  admit(request: FastifyRequest, reply: FastifyReply, em: EntityManager): void {
    this.#isAdmitted = true;
    checkNotAborted(this.outer);
    reply.raw.once(
      'close',
      onAbort(this.outer, () => abortRequest(request)),
    );
    // Unknown paths give 404 on their own.
    if (request.is404) return;
    const isOfOrm = this.#em.getDriver() === em.getDriver();
    if (!isOfOrm || request.routeOptions.config.viewset?.batchable !== true) {
      throw new UnprocessableEntity('The operation cannot be a part of a batch');
    }
    stateOf(request).em = this.#em;
  }

  /**
   * @internal Runs the part's handler, which must leave no change unflushed: the whole request does not know the part's
   * entity manager. If the part is only checked, returns the error for the faults of the body, or 424.
   */
  handle(request: FastifyRequest, work: () => unknown): unknown {
    if (this.isOnlyChecked) throw notRun(request);
    const failed = (error: unknown): never => {
      this.error = error;
      throw error;
    };
    const flushed = (result: unknown): unknown => {
      checkFlushed(this.#em, `${request.method} ${request.routeOptions.url}`);
      return result;
    };
    return thenOrCatch<unknown, unknown>(
      () => whenReady(work(), flushed),
      (result) => result,
      failed,
    );
  }
}

/** Returns the part that a request is; undefined for a request from outside. */
export function partOf(request: FastifyRequest): RequestPart | undefined {
  return (request.raw as Carrier)[PART];
}

function notRun(request: FastifyRequest): unknown {
  const { input } = stateOf(request);
  const faults = input === undefined ? [] : faultsIn(input);
  if (faults.length > 0) return placedError(invalidInput('body', faults), input?.path);
  return new HttpError(424, 'failed_dependency', 'Not run, because another part of the request has failed');
}

function isHeld(method: string): Error {
  return new ImproperlyConfigured(
    `em.${method}() was called in a part of a request, whose transaction ends with the whole request`,
  );
}
