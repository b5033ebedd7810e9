/** An answer with its `ETag`. */
export interface KeptAnswer {
  readonly etag: string;
  readonly text: string;
}

/** The last answers that had an `ETag`, by address; the one used least lately goes first. */
export class KeptAnswers {
  readonly #answers = new Map<string, KeptAnswer>();
  readonly #maximum: number;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get(address: string): KeptAnswer | undefined {
    const answer = this.#answers.get(address);
    if (answer !== undefined) this.set(address, answer);
    return answer;
  }

  /** Keeps an answer, or forgets the one that is there. */
  set(address: string, answer: KeptAnswer | undefined): void {
    this.#answers.delete(address);
    if (answer === undefined) return;
    this.#answers.set(address, answer);
    if (this.#answers.size > this.#maximum) this.#answers.delete(this.#answers.keys().next().value!);
  }
}
