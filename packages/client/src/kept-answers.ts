import type { MaybeToken } from './tokens.ts';

/** An answer as it came. */
export interface AnswerText {
  readonly text: string;
  /** The media type; null if the answer says none. */
  readonly type: string | null;
  readonly etag: string | null;
}

/** The last answers that had an `ETag`, by token and address; the one used least lately goes first. */
export class KeptAnswers {
  readonly #answers = new Map<string, AnswerText>();
  readonly #maximum: number;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get(token: MaybeToken, url: string): AnswerText | undefined {
    const answer = this.#answers.get(placeOf(token, url));
    if (answer !== undefined) this.set(token, url, answer);
    return answer;
  }

  /** Keeps an answer in the place of the one that is there; one without an `ETag` only takes that away. */
  set(token: MaybeToken, url: string, answer: AnswerText): void {
    const place = placeOf(token, url);
    this.#answers.delete(place);
    if (answer.etag === null) return;
    this.#answers.set(place, answer);
    if (this.#answers.size > this.#maximum) this.#answers.delete(this.#answers.keys().next().value!);
  }

  /** Gives the answers of a token to the one that has come in its place, whose user is the same. */
  handOver(stale: MaybeToken, fresh: MaybeToken): void {
    const prefix = placeOf(stale, '');
    const handed = [...this.#answers].filter(([place]) => place.startsWith(prefix));
    for (const [place, answer] of handed) {
      this.#answers.delete(place);
      this.set(fresh, place.slice(prefix.length), answer);
    }
  }
}

function placeOf(token: MaybeToken, url: string): string {
  return `${token ?? ''} ${url}`;
}
