import { randomBytes } from 'node:crypto';

let lastMs = 0;
let counter = 0;

/**
 * Makes a UUID of version 7 (RFC 9562). Those of one process ascend as texts, within a millisecond too: twelve bits behind the time count.
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

/** Writes a UUID of version 7: the time, twelve bits behind it, and 62 of the further ones. */
export function uuid(time: string, next: string, rest: Buffer): string {
  const variant = ((rest[0]! & 0x3f) | 0x80).toString(16);
  const hex = `${time}7${next}${variant}${rest.subarray(1, 8).toString('hex')}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
