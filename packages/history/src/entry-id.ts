import { randomBytes } from 'node:crypto';

let lastMs = 0;
let counter = 0;

/** Makes a UUID of version 7 (RFC 9562). Those of one process ascend as texts, within a millisecond too. */
export function newEntryId(): string {
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    counter = 0;
  } else if (++counter > 0xfff) {
    lastMs++;
    counter = 0;
  }
  const rest = randomBytes(8);
  const variant = ((rest[0]! & 0x3f) | 0x80).toString(16);
  const time = lastMs.toString(16).padStart(12, '0');
  const hex = `${time}7${counter.toString(16).padStart(3, '0')}${variant}${rest.subarray(1).toString('hex')}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
