import type { MaybeToken } from './tokens.ts';

/** A response as text. */
export interface AnswerText {
  readonly text: string;
  /** The media type; null if the response has none. */
  readonly type: string | null;
  readonly etag: string | null;
}

/** The latest responses with an `ETag`, by token and address. The least recently used one is evicted first. */
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

  /** Stores a response instead of the previous one; a response without an `ETag` only removes the previous one. */
  set(token: MaybeToken, url: string, answer: AnswerText): void {
    const place = placeOf(token, url);
    this.#answers.delete(place);
    if (answer.etag === null) return;
    this.#answers.set(place, answer);
    if (this.#answers.size > this.#maximum) this.#answers.delete(this.#answers.keys().next().value!);
  }

  /** Moves the responses of a token to the token that replaced it, which has the same user. */
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
