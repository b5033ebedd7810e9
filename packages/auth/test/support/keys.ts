import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import type { TokenKeys } from '../../src/tokens/signing-keys.ts';

export type KeyKind = { type: 'rsa'; bits: number } | { type: 'ec'; curve: string } | { type: 'ed25519' };

/** A fresh key pair in PEM. */
export function makeKeys(kind: KeyKind): TokenKeys {
  const { privateKey, publicKey } = generate(kind);
  return {
    private: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    public: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

function generate(kind: KeyKind): KeyPairKeyObjectResult {
  if (kind.type === 'rsa') return generateKeyPairSync('rsa', { modulusLength: kind.bits });
  if (kind.type === 'ec') return generateKeyPairSync('ec', { namedCurve: kind.curve });
  return generateKeyPairSync('ed25519');
}
