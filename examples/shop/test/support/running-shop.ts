import { EventEmitter, once } from 'node:events';

export type Variables = Readonly<Record<string, string>>;

export const SECRET_KEY = 'the secret of the tests: 32 bytes or more';
export const JWT_SECRET = 'another secret of the tests: 32 bytes or more';
/** The default settings of a shop in tests. */
export const DEFAULTS: Variables = {
  PORT: '0',
  // Its page would be bundled at each start. explorer.test.ts looks at it.
  EXPLORER: 'off',
  BCRYPT_ROUNDS: '4',
  THROTTLE_IP: 'off',
  THROTTLE_USER: 'off',
  SECRET_KEY,
  JWT_SECRET,
};
/** A line that has not come by then does not come. */
const PATIENCE_MS = 60_000;

/** One line of the shop's log. */
export interface LogLine {
  level: number;
  msg: string;
  port?: number;
  /** The name of a security event, and the account that it happened to. */
  event?: string;
  target?: number;
  /** The mails that would have been sent if there were a mail server. */
  mail?: { recipient: string; subject: string; content: string; is_html: boolean };
}

/** A shop that runs, and its log. */
export abstract class RunningShop {
  readonly log: LogLine[] = [];
  /** The printed lines that are not part of the log. */
  readonly output: string[] = [];
  readonly #lines = new EventEmitter();

  protected keep(line: string): void {
    if (line.startsWith('{')) this.log.push(JSON.parse(line) as LogLine);
    else this.output.push(line);
    this.#lines.emit('line');
  }

  /** The first line of the log, from a place on, that is looked for; waits for it. */
  async logged(isIt: (line: LogLine) => boolean, from = 0): Promise<LogLine> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    for (let index = from; ; index += 1) {
      while (index >= this.log.length) await Promise.race([once(this.#lines, 'line', { signal }), this.ended()]);
      const line = this.log[index]!;
      if (isIt(line)) return line;
    }
  }

  /** Stops the shop, as SIGTERM does. Does nothing if it has stopped. */
  abstract stop(): Promise<unknown>;

  /** Throws once the shop cannot log any more. */
  protected async ended(): Promise<never> {
    return new Promise(() => undefined);
  }
}
