/** An answer as it came. */
export interface AnswerText {
  readonly text: string;
  /** The media type; null if the answer says none. */
  readonly type: string | null;
  readonly etag: string | null;
}

/** The last answers that had an `ETag`, by address; the one used least lately goes first. */
export class KeptAnswers {
  readonly #answers = new Map<string, AnswerText>();
  readonly #maximum: number;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get(address: string): AnswerText | undefined {
    const answer = this.#answers.get(address);
    if (answer !== undefined) this.set(address, answer);
    return answer;
  }

  /** Keeps an answer in the place of the one that is there; one without an `ETag` only takes that away. */
  set(address: string, answer: AnswerText): void {
    this.#answers.delete(address);
    if (answer.etag === null) return;
    this.#answers.set(address, answer);
    if (this.#answers.size > this.#maximum) this.#answers.delete(this.#answers.keys().next().value!);
  }
}
