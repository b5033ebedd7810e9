import bcrypt from '@node-rs/bcrypt';
import type { Test } from 'tap';

/** The module, whose functions are replaced here. */
const replaceable: { compare: typeof bcrypt.compare; hash: typeof bcrypt.hash } = bcrypt;
/** bcrypt's base64, in its order. */
const ALPHABET = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/**
 * Returns the costs of the hashes that bcrypt compares a password with until the test ends: what a login takes, without a clock. Throws for a
 * hash that bcrypt would not compute anything for.
 */
export function watchComparisons(t: Test): string[] {
  const costs: string[] = [];
  const { compare } = bcrypt;
  replaceable.compare = (async (password: string, hash: string) => {
    // 128 bits of a salt take 22 characters, 184 of a digest 31. The bits to spare are zero.
    if (valueOf(hash[28]) % 16 !== 0 || valueOf(hash[59]) % 4 !== 0) {
      throw new Error(`bcrypt computes nothing for ${hash}`);
    }
    costs.push(hash.slice(0, 7));
    return compare(password, hash);
  }) as typeof compare;
  t.teardown(() => {
    replaceable.compare = compare;
  });
  return costs;
}

/** Makes bcrypt's hashes fail until the function that it answers is called, or the test ends. */
export function failHashes(t: Test): () => void {
  const { hash } = bcrypt;
  const restore = (): void => {
    replaceable.hash = hash;
  };
  replaceable.hash = async () => {
    throw new Error('no thread to hash on');
  };
  t.teardown(restore);
  return restore;
}

function valueOf(character: string | undefined): number {
  return ALPHABET.indexOf(character ?? '');
}
