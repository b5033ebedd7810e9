/** The message of the runner to a worker instead of a file: the running file has been idle for too long. */
export const IDLE = 'idle';

/** The last line of a file. */
export interface FileReport {
  readonly isRight: boolean;
  /** The properties of the process that differ after the file. */
  readonly changes: readonly string[];
  /** How much memory the process has. */
  readonly rssMiB: number;
}
