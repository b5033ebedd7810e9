import { createHmac } from 'node:crypto';
import type { Shop } from './shop.ts';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The code of RFC 6238 for so many steps from now. */
export function codeOf(secret: string, steps = 0): string {
  const bits = Array.from(secret, (letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const hash = createHmac('sha1', key).update(counter).digest();
  const offset = hash.at(-1)! & 15;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** Switches two factors on, and returns the secret and the recovery codes. */
export async function enrol(shop: Shop, token: string): Promise<{ secret: string; codes: string[] }> {
  const { body } = await shop.post<{ secret: string; uri: string }>('/api/auth/two-factor', {}, { token });
  const code = codeOf(body.secret);
  const confirmed = await shop.post<{ recovery_codes: string[] }>('/api/auth/two-factor/confirm', { code }, { token });
  return { secret: body.secret, codes: confirmed.body.recovery_codes };
}
