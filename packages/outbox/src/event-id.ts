import { randomBytes } from 'node:crypto';

let lastMs = 0;
let counter = 0;

/**
 * Makes a UUID of version 7 (RFC 9562). The ids of one process ascend as texts, even within a millisecond: the twelve
 * bits after the time are a counter.
 */
export function newEventId(): string {
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    counter = 0;
  } else if (++counter > 0xfff) {
    lastMs++;
    counter = 0;
  }
  return uuid(lastMs.toString(16).padStart(12, '0'), counter.toString(16).padStart(3, '0'), randomBytes(8));
}

/** Formats a UUID of version 7: `time`, the twelve bits `next`, and 62 bits of `rest`. */
export function uuid(time: string, next: string, rest: Buffer): string {
  const variant = ((rest[0]! & 0x3f) | 0x80).toString(16);
  const hex = `${time}7${next}${variant}${rest.subarray(1, 8).toString('hex')}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
