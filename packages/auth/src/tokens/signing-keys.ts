import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { ImproperlyConfigured } from '@viewset/core';

/** The algorithms that tokens may be signed with; one is chosen, and no other is ever accepted. */
export const TOKEN_ALGORITHMS = ['HS256', 'RS256', 'ES256', 'EdDSA'] as const;
/** One of HS256 (a secret), RS256, ES256 and EdDSA (key pairs). */
export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number];

/** A key pair in PEM (PKCS#8 and SPKI). */
export interface TokenKeys {
  readonly private: string;
  readonly public: string;
}

/** Fewest bytes of any secret in use: as many as SHA-256 puts out (RFC 7518, section 3.2). */
export const MIN_SECRET_BYTES = 32;
/** RFC 7518, section 3.3. */
const MIN_RSA_BITS = 2048;

/** Throws ImproperlyConfigured for a secret that is missing or short. Never names the secret itself. */
export function checkSecret(option: string, secret: unknown): string {
  if (typeof secret !== 'string') {
    throw new ImproperlyConfigured(
      `auth: option "${option}" must be a string of at least ${MIN_SECRET_BYTES} bytes, but ${kindOf(secret)} came`,
    );
  }
  const bytes = Buffer.byteLength(secret);
  if (bytes < MIN_SECRET_BYTES) {
    throw new ImproperlyConfigured(
      `auth: option "${option}" must have at least ${MIN_SECRET_BYTES} bytes, but has ${bytes}; ` +
        `node -p "crypto.randomBytes(32).toString('hex')" makes a good one`,
    );
  }
  return secret;
}

/** Throws ImproperlyConfigured unless the keys are a pair, of the kind and strength that the algorithm needs. */
export function checkKeys(algorithm: Exclude<TokenAlgorithm, 'HS256'>, keys: TokenKeys | undefined): TokenKeys {
  if (typeof keys?.private !== 'string' || typeof keys.public !== 'string') {
    throw wrong(`must be { private, public } in PEM, since option "algorithm" is "${algorithm}"`);
  }
  let privateKey: KeyObject;
  let publicKey: KeyObject;
  try {
    privateKey = createPrivateKey(keys.private);
    publicKey = createPublicKey(keys.public);
  } catch (error) {
    throw wrong('must hold a private and a public key in PEM, but one of them cannot be read', error);
  }
  if (!fits(algorithm, privateKey) || !fits(algorithm, publicKey)) {
    throw wrong(`must be ${KINDS[algorithm]} for ${algorithm}`);
  }
  if (!isPair(privateKey, publicKey)) throw wrong('must be a pair, but the public key is not the private key’s');
  return keys;
}

const KINDS = {
  RS256: `RSA keys of at least ${MIN_RSA_BITS} bits`,
  ES256: 'keys on the curve P-256',
  EdDSA: 'Ed25519 keys',
} as const;

function fits(algorithm: keyof typeof KINDS, key: KeyObject): boolean {
  const type = key.asymmetricKeyType;
  const details = key.asymmetricKeyDetails;
  if (algorithm === 'RS256') return type === 'rsa' && (details?.modulusLength ?? 0) >= MIN_RSA_BITS;
  if (algorithm === 'ES256') return type === 'ec' && details?.namedCurve === 'prime256v1';
  return type === 'ed25519';
}

function isPair(privateKey: KeyObject, publicKey: KeyObject): boolean {
  const probe = randomBytes(32);
  const digest = privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  return verify(digest, probe, publicKey, sign(digest, probe, privateKey));
}

function kindOf(value: unknown): string {
  return value === undefined ? 'nothing' : value === null ? 'null' : `a ${typeof value}`;
}

function wrong(problem: string, cause?: unknown): ImproperlyConfigured {
  return new ImproperlyConfigured(`auth: option "keys" ${problem}`, { cause });
}
