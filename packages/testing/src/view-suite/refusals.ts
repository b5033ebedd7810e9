/** A response that matches its operation's document. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** The body; a record comes without its envelope. */
  readonly body: unknown;
}

/** Tells if a status means that the input is wrong. */
export function isRefusal(status: number): boolean {
  return status === 400 || status === 409 || status === 422;
}
