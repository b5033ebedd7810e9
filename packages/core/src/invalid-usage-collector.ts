import { InvalidUsage } from './errors.ts';

/**
 * Gathers the 400s of several steps into one, so that a client learns of every offending field at once.
 *
 * @example
 * const problems = new InvalidUsageCollector();
 * const page = problems.attempt(() => integerParameter(parameters, 'page', 1));
 * const size = problems.attempt(() => integerParameter(parameters, 'page_size', 1));
 * problems.throwIfAny();   // one InvalidUsage whose details name both
 */
export class InvalidUsageCollector {
  readonly #caught: InvalidUsage[] = [];

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

  throwIfAny(): void {
    const [first, ...rest] = this.#caught;
    if (first === undefined) return;
    if (rest.length === 0) throw first;
    const messages = this.#caught.map((error) => error.message);
    throw new InvalidUsage(messages.join('; '), { details: this.#caught.flatMap((error) => error.details ?? []) });
  }
}
