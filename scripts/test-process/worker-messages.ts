/** What the runner sends to a worker instead of a file: the running file has been idle for too long. */
export const IDLE = 'idle';

/** The last line of a file. */
export interface FileReport {
  readonly isRight: boolean;
  /** What of the process differs after the file. */
  readonly changes: readonly string[];
  /** How much memory the process has. */
  readonly rssMiB: number;
}
