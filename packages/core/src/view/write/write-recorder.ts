import type { WriteKind } from '../request/operation.ts';

/** Records the writes of some work of a request: of one operation, or of an action. */
export interface WriteRecorder {
  /**
   * Runs the write of an operation, and records it.
   *
   * @param found the entities before the write; empty for new records
   * @param write returns the entities that it has written, after their flush
   */
  operation<Entity extends object>(
    kind: WriteKind,
    found: readonly Entity[],
    write: () => Promise<readonly Entity[]>,
  ): Promise<readonly Entity[]>;
  /** Runs an action and records what it has changed, if `isKept` returns true. */
  action<Result>(work: () => Promise<Result>, isKept: () => boolean): Promise<Result>;
}
