import type { EntityMetadata } from '@mikro-orm/core';
import { inspect } from 'node:util';
import { isPlainRecord } from '@viewset/core/backend';
import type { Document, MongoDriver } from './mongo-driver.ts';
import { isServerGone } from './mongo-errors.ts';
import { PATIENCE_MS } from './session.ts';

/** The callers in this process that wait for the same lock. */
interface Line {
  /** The last caller's attempt; undefined before the first. */
  last: Promise<unknown> | undefined;
  /** When a caller last got the lock. */
  movedAt: number;
}

/** The lines, by the name of the lock. */
const lines = new WeakMap<MongoDriver, Map<string, Line>>();

/** Names the line for a filter's documents: by the key in the filter, whatever its other conditions. */
export function lineOf({ collection }: EntityMetadata, filter: Document): string {
  return `${collection} ${keyIn(filter) ?? inspect(filter, { depth: null })}`;
}

/** Returns the key of the one document that a filter selects; undefined if it selects several, or not by key. */
function keyIn({ _id, $and }: Document): string | undefined {
  const key: unknown = isPlainRecord(_id) ? _id['$eq'] : _id;
  if (key !== undefined) return inspect(key);
  for (const part of ($and ?? []) as readonly Document[]) {
    const named = keyIn(part);
    if (named !== undefined) return named;
  }
  return undefined;
}

/**
 * Waits for a lock. Only one caller of this process tries at a time: if many retried together, the holder of the lock
 * would hardly make progress. Callers in line hold no lock, so nobody waits for them. If the server is gone, all
 * callers in line fail.
 *
 * If the holder does not release the lock, all callers in line give up together. While the line moves, they wait as
 * long as it takes.
 *
 * @param name names the records to lock; each name has its own line
 * @param lock tries until a deadline, at least once
 */
export async function inLine<Result>(
  driver: MongoDriver,
  name: string,
  lock: (deadline: number) => Promise<Result>,
): Promise<Result> {
  const waiting = lines.get(driver) ?? new Map<string, Line>();
  lines.set(driver, waiting);
  const since = performance.now();
  const line = waiting.get(name) ?? { last: undefined, movedAt: since };
  waiting.set(name, line);
  const next = async (): Promise<Result> => {
    const result = await lock(Math.max(since, line.movedAt) + PATIENCE_MS);
    line.movedAt = performance.now();
    return result;
  };
  const current =
    line.last?.then(next, (error: unknown) => {
      if (isServerGone(error)) throw error;
      return next();
    }) ?? next();
  line.last = current;
  try {
    return await current;
  } finally {
    if (line.last === current) waiting.delete(name);
  }
}
