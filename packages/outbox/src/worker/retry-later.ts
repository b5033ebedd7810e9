/** A failure with the earliest time of the next attempt. */
export class RetryLater extends Error {
  override readonly name: string = 'RetryLater';
  /** In milliseconds since 1970. */
  readonly retryAt: number;

  constructor(message: string, retryAt: number, options?: ErrorOptions) {
    super(message, options);
    this.retryAt = retryAt;
  }
}

/** Puts an event off. Nothing was tried, so it is no attempt. */
export class PutOff extends RetryLater {
  override readonly name = 'PutOff';
}

/** A failure that no further attempt can mend: the event is a dead letter at once. */
export class Undeliverable extends Error {
  override readonly name = 'Undeliverable';
}

/** The earliest time of the next attempt that an error asks for; 0 if it asks for none. */
export function retryTimeOf(error: unknown): number {
  return error instanceof RetryLater ? error.retryAt : 0;
}
