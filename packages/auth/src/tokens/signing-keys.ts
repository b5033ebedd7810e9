import {
  createPrivateKey,
  createPublicKey,
  hash,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { ImproperlyConfigured } from '@viewset/core';
import { deriveKey } from '../secrets/keyed-hash.ts';

/** The algorithms that tokens may be signed with; one is chosen, and no other is ever accepted. */
export const TOKEN_ALGORITHMS = ['HS256', 'RS256', 'ES256', 'EdDSA'] as const;
/** One of HS256 (a secret), RS256, ES256 and EdDSA (key pairs). */
export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number];

/** A key pair in PEM (PKCS#8 and SPKI). */
export interface TokenKeys {
  readonly private: string;
  readonly public: string;
}

/** A public key in PEM (SPKI), with which tokens are only verified. */
export type VerifyingKey = Pick<TokenKeys, 'public'>;

/** A key of tokens, checked. */
export interface TokenKey {
  /** The name of the key in the header `kid`. */
  readonly id: string;
  /** Undefined for a key that only verifies. */
  readonly signing: string | undefined;
  readonly verifying: string;
  /** The public key as a JSON Web Key (RFC 7517); undefined for a secret. */
  readonly jwk: PublicJwk | undefined;
}

/** A public key of `/.well-known/jwks.json`. */
export type PublicJwk = JsonWebKey & { readonly kid: string; readonly alg: string; readonly use: 'sig' };

/** Fewest bytes of any secret in use: as many as SHA-256 puts out (RFC 7518, section 3.2). */
export const MIN_SECRET_BYTES = 32;
/** RFC 7518, section 3.3. */
const MIN_RSA_BITS = 2048;

/** Throws ImproperlyConfigured for a secret that is missing or short. Never names the secret itself. */
function checkSecret(option: string, secret: unknown): string {
  if (typeof secret !== 'string') {
    throw new ImproperlyConfigured(
      `auth: option "${option}" must be a string of at least ${MIN_SECRET_BYTES} bytes, got ${kindOf(secret)}`,
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

/** Throws ImproperlyConfigured for a secret that is missing or short, also in a list. Returns all, the first signs. */
export function checkSecrets(option: string, given: unknown): readonly string[] {
  if (!Array.isArray(given)) return [checkSecret(option, given)];
  if (given.length === 0) throw new ImproperlyConfigured(`auth: option "${option}" must have at least one secret`);
  return given.map((secret, index) => checkSecret(`${option}[${index}]`, secret));
}

/** Makes the keys of HS256. */
export function secretKeys(secrets: readonly string[]): readonly TokenKey[] {
  return secrets.map((secret) => {
    // Derived, so that the header of a token is no help in guessing the secret.
    const id = Buffer.from(deriveKey(secret, 'key id')).subarray(0, 8).toString('base64url');
    return { id, signing: secret, verifying: secret, jwk: undefined };
  });
}

/**
 * Throws ImproperlyConfigured unless the keys are pairs, of the kind and strength that the algorithm needs. In a list,
 * only the first needs its private key.
 */
export function checkKeys(
  algorithm: Exclude<TokenAlgorithm, 'HS256'>,
  given: TokenKeys | readonly (TokenKeys | VerifyingKey)[] | undefined,
): readonly TokenKey[] {
  if (!Array.isArray(given)) return [checkPair(algorithm, given as TokenKeys | undefined, 'keys', true)];
  if (given.length === 0) throw wrong('keys', 'must have at least one pair');
  const pairs = given as readonly (Partial<TokenKeys> | undefined)[];
  return pairs.map((pair, index) => checkPair(algorithm, pair, `keys[${index}]`, index === 0));
}

function checkPair(
  algorithm: Exclude<TokenAlgorithm, 'HS256'>,
  keys: Partial<TokenKeys> | null | undefined,
  option: string,
  signs: boolean,
): TokenKey {
  const signing = keys?.private;
  const verifying = keys?.public;
  const hasPrivate = signs ? typeof signing === 'string' : signing === undefined || typeof signing === 'string';
  if (!hasPrivate || typeof verifying !== 'string') {
    const parts = signs ? '{ private, public }' : '{ public } or { private, public }';
    throw wrong(option, `must be ${parts} in PEM, since option "algorithm" is "${algorithm}"`);
  }
  let privateKey: KeyObject | undefined;
  let publicKey: KeyObject;
  try {
    privateKey = signing === undefined ? undefined : createPrivateKey(signing);
    publicKey = createPublicKey(verifying);
  } catch (error) {
    throw wrong(option, 'must hold a private and a public key in PEM, but one of them cannot be read', error);
  }
  if ((privateKey && !fits(algorithm, privateKey)) || !fits(algorithm, publicKey)) {
    throw wrong(option, `must be ${KINDS[algorithm]} for ${algorithm}`);
  }
  if (privateKey && !isPair(privateKey, publicKey)) {
    throw wrong(option, 'must be a pair, but the public key is not the private key’s');
  }
  const id = thumbprint(publicKey);
  return {
    id,
    signing,
    verifying,
    jwk: { ...publicKey.export({ format: 'jwk' }), kid: id, alg: algorithm, use: 'sig' },
  };
}

/** The members of a key that its thumbprint covers, in the order of RFC 7638 and RFC 8037. */
const THUMBPRINT_MEMBERS = ['crv', 'e', 'kty', 'n', 'x', 'y'] as const;

/** The thumbprint of a public key (RFC 7638): every process and every program computes the same one. */
function thumbprint(key: KeyObject): string {
  const jwk = key.export({ format: 'jwk' }) as Readonly<Record<string, unknown>>;
  const members = THUMBPRINT_MEMBERS.filter((name) => jwk[name] !== undefined).map((name) => [name, jwk[name]]);
  return hash('sha256', JSON.stringify(Object.fromEntries(members)), 'base64url');
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

function wrong(option: string, problem: string, cause?: unknown): ImproperlyConfigured {
  return new ImproperlyConfigured(`auth: option "${option}" ${problem}`, { cause });
}
