import type { ResolvedData } from '../shapes/write-input.ts';

/** A write that a hook may enrich with fields that the client does not send. */
export type WriteData<Entity, Input> = ResolvedData<Entity, Input> & {
  readonly [Field in Exclude<keyof Entity & string, keyof Input>]?: unknown;
};
