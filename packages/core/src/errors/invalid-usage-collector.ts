import { type Awaitable, thenOrCatch } from '../support/awaitable.ts';
import { InvalidUsage } from './errors.ts';
import { PlacedInvalidUsage } from '../http/parameters.ts';

/**
 * Joins the 400s of several steps into one, so that a client sees all wrong fields at once.
 *
 * @example
 * const problems = new InvalidUsageCollector();
 * const page = problems.attempt(() => readPage(parameters));
 * const size = problems.attempt(() => readSize(parameters));
 * problems.throwIfAny();   // one InvalidUsage whose details name both
 */
export class InvalidUsageCollector {
  readonly #caught: InvalidUsage[] = [];

  /** Returns the results of two steps, or throws one InvalidUsage for both. */
  static both<First, Second>(first: () => First, second: () => Second): [First, Second] {
    const problems = new InvalidUsageCollector();
    const results = [problems.attempt(first), problems.attempt(second)];
    problems.throwIfAny();
    return results as [First, Second];
  }

  /** Returns the step's result, or undefined if the step threw InvalidUsage. Every other error passes through. */
  attempt<T>(step: () => T): T | undefined {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof InvalidUsage)) throw error;
      this.#caught.push(error);
      return undefined;
    }
  }

  /** Like `attempt`, for an asynchronous step. */
  async attemptLater<T>(step: () => Awaitable<T>): Promise<T | undefined> {
    const done = await thenOrCatch(
      step,
      (result) => () => result,
      (error) => () => {
        throw error;
      },
    );
    return this.attempt(done);
  }

  /** True if no step has thrown. */
  get isEmpty(): boolean {
    return this.#caught.length === 0;
  }

  throwIfAny(): void {
    const [first, ...rest] = this.#caught;
    if (first === undefined) return;
    if (rest.length === 0) throw first;
    throw new PlacedInvalidUsage(
      (word) => this.#caught.map((error) => PlacedInvalidUsage.sentenceOf(error, word)).join('; '),
      this.#caught.flatMap((error) => error.details ?? []),
    );
  }
}
