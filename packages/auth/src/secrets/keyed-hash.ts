import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Derives the key of a purpose from a secret by HKDF (RFC 5869): no two purposes share a key. */
export function deriveKey(secret: string | Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `viewset ${purpose}`, 32));
}

/** The HMAC-SHA-256 of a text, in 43 characters. */
export function keyedHash(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** Compares texts in a time that does not depend on where they differ. */
export function isSameText(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
