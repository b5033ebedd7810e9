import { randomBytes } from 'node:crypto';

/** The position of an entry in the order of all entries: milliseconds, and a counter within them. */
interface Place {
  readonly ms: number;
  readonly count: number;
}

const MAX_COUNT = 0xfff;

let last: Place = { ms: 0, count: 0 };

/**
 * Makes a UUID of version 7 (RFC 9562) that sorts after the ids that this process has made by its own clock, and after
 * `behind`.
 *
 * @param behind an id from another process, whose clock may be ahead
 */
export function newEntryId(behind?: string): string {
  const now = { ms: Date.now(), count: 0 };
  last = later(now, next(last));
  // Only this entry follows the other clock; later ids of this process do not.
  const place = behind === undefined ? last : later(last, next(placeOf(behind)));
  return idOf(place, randomBytes(8));
}

/** Returns the smallest id that the next entry of this process can have. */
export function leastEntryId(): string {
  return idOf(later({ ms: Date.now(), count: 0 }, next(last)), Buffer.alloc(8));
}

/** Reads the time of an entry from its id. */
export function timeOf(id: string): Date {
  return new Date(placeOf(id).ms);
}

function later(one: Place, other: Place): Place {
  return one.ms > other.ms || (one.ms === other.ms && one.count > other.count) ? one : other;
}

function next({ ms, count }: Place): Place {
  return count < MAX_COUNT ? { ms, count: count + 1 } : { ms: ms + 1, count: 0 };
}

function placeOf(id: string): Place {
  const hex = id.replaceAll('-', '');
  return { ms: Number.parseInt(hex.slice(0, 12), 16), count: Number.parseInt(hex.slice(13, 16), 16) };
}

function idOf({ ms, count }: Place, rest: Buffer): string {
  const variant = ((rest[0]! & 0x3f) | 0x80).toString(16);
  const place = `${ms.toString(16).padStart(12, '0')}7${count.toString(16).padStart(3, '0')}`;
  const hex = `${place}${variant}${rest.subarray(1).toString('hex')}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
