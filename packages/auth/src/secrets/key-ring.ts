import { deriveKey, isSameText, keyedHash } from './keyed-hash.ts';

/**
 * Keys of one purpose. The first makes hashes and ciphertexts, and all verify them, so that a secret can be replaced
 * while processes with the old one still run.
 */
export class KeyRing {
  /** At least one. */
  readonly keys: readonly Uint8Array[];

  constructor(keys: readonly Uint8Array[]) {
    this.keys = keys;
  }

  /** The ring of a purpose, by HKDF of each secret. */
  static of(secrets: readonly (string | Uint8Array)[], purpose: string): KeyRing {
    return new KeyRing(secrets.map((secret) => deriveKey(secret, purpose)));
  }

  /** Derives the ring of a narrower purpose. */
  for(purpose: string): KeyRing {
    return KeyRing.of(this.keys, purpose);
  }

  /** The keyed hash of a text. */
  hash(text: string): string {
    return keyedHash(this.keys[0]!, text);
  }

  /** The hashes of a text with every key, that of the first key first. */
  hashes(text: string): string[] {
    return this.keys.map((key) => keyedHash(key, text));
  }

  /** True if one of the keys made this hash of the text. The time does not depend on where they differ. */
  made(hash: string, text: string): boolean {
    return this.keys.some((key) => isSameText(hash, keyedHash(key, text)));
  }
}
