import { createPrivateKey, createPublicKey } from 'node:crypto';
import { wrongOption } from '@viewset/core';
import { registerJwts } from '../tokens/fastify-jwt.ts';

/** A key of Sign in with Apple, which makes the secrets of clients. Such a secret ends after six months at the latest. */
export interface AppleKey {
  /** The ten characters of your team. */
  readonly teamId: string;
  /** The ten characters of the key. */
  readonly keyId: string;
  /** The content of the file `AuthKey_….p8`. */
  readonly privateKey: string;
}

const LIFETIME_SECONDS = 300;

/** Throws ImproperlyConfigured, naming the option, if a key is wrong or the service is not Apple. */
export function checkAppleKey(name: string, key: AppleKey, kind: string): void {
  const wrong = (option: string, expected: string, received: unknown): Error =>
    wrongOption('auth: option "oauth"', `providers.${name}.${option}`, expected, received);
  // The errors show types alone, because the values may be secrets.
  if (typeof key !== 'object' || key === null || kind !== 'apple') throw wrong('clientSecret', 'a text', typeof key);
  for (const part of ['teamId', 'keyId'] as const) {
    if (typeof key[part] !== 'string' || key[part] === '') {
      throw wrong(`clientSecret.${part}`, 'a text', typeof key[part]);
    }
  }
  if (!isSigningKey(key.privateKey)) {
    throw wrong('clientSecret.privateKey', 'the content of a .p8 file of Apple', `a ${typeof key.privateKey}`);
  }
}

/** Makes the secret of a client for one request: a token by ES256 that is valid for five minutes. */
export function appleSecret({ teamId, keyId, privateKey }: AppleKey, clientId: string, issuer: string): string {
  const key = {
    private: privateKey,
    public: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString(),
  };
  const sign = {
    algorithm: 'ES256',
    kid: keyId,
    iss: teamId,
    sub: clientId,
    aud: new URL(issuer).origin,
    expiresIn: LIFETIME_SECONDS,
  } as const;
  const jwts = registerJwts(new Map([['apple', { secret: key, sign }]]));
  return jwts.get('apple')!.sign({});
}

function isSigningKey(pem: unknown): boolean {
  try {
    return createPrivateKey(pem as string).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}
