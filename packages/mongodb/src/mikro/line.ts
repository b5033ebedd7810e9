import type { EntityMetadata } from '@mikro-orm/core';
import { inspect } from 'node:util';
import { isPlainRecord } from '@viewset/core/backend';
import type { Document, MongoDriver } from './mongo-driver.ts';
import { isServerGone } from './mongo-errors.ts';
import { PATIENCE_MS } from './session.ts';

/** Those of this process who wait for the same lock. */
interface Line {
  /** The try of the last one; undefined before the first. */
  last: Promise<unknown> | undefined;
  /** The time when one of them has got the lock last. */
  movedAt: number;
}

/** The lines, by what those in line want to lock. */
const lines = new WeakMap<MongoDriver, Map<string, Line>>();

/** Names the line of those who wait for the documents of a filter: by the key of the one that it asks for, whatever else it asks. */
export function lineOf({ collection }: EntityMetadata, filter: Document): string {
  return `${collection} ${keyIn(filter) ?? inspect(filter, { depth: null })}`;
}

/** Returns the key of the one document that a filter asks for; undefined if it asks for one in other words, or for several. */
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
 * Waits for a lock, one of this process after the other: of many who try again and again, the one that holds the lock would hardly get
 * through. Whoever waits in line holds no lock, so that nobody waits for them. If the server is gone, it is so for all in line.
 *
 * The patience of all in line ends together if whoever holds the lock does not give it back. A line that moves is waited in for as long
 * as it takes.
 *
 * @param name the records to lock: what has another name is not in the same line
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
  const own =
    line.last?.then(next, (error: unknown) => {
      if (isServerGone(error)) throw error;
      return next();
    }) ?? next();
  line.last = own;
  try {
    return await own;
  } finally {
    if (line.last === own) waiting.delete(name);
  }
}
