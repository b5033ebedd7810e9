import bcrypt from 'bcrypt';
import type { Test } from 'tap';

/**
 * The costs of the hashes that bcrypt has compared a password with since: what a login takes, without a clock. Until the
 * test ends.
 */
export function watchComparisons(t: Test): string[] {
  const costs: string[] = [];
  const { compare } = bcrypt;
  bcrypt.compare = (async (password: string, hash: string) => {
    costs.push(hash.slice(0, 7));
    return compare(password, hash);
  }) as typeof compare;
  t.teardown(() => {
    bcrypt.compare = compare;
  });
  return costs;
}

/** Makes bcrypt's hashes fail until the function that it answers is called, or the test ends. */
export function failHashes(t: Test): () => void {
  const { hash } = bcrypt;
  const restore = (): void => {
    bcrypt.hash = hash;
  };
  bcrypt.hash = async () => {
    throw new Error('no thread to hash on');
  };
  t.teardown(restore);
  return restore;
}
