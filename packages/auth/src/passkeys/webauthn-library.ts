import type * as server from '@simplewebauthn/server';
import type * as helpers from '@simplewebauthn/server/helpers';
import { ImproperlyConfigured } from '@viewset/core';

/** The parts of the optional package `@simplewebauthn/server` that passkeys need. */
export type WebAuthnLibrary = typeof server & Pick<typeof helpers, 'decodeAttestationObject'>;

/** Throws ImproperlyConfigured if the package is not installed. */
export async function loadWebAuthn(): Promise<WebAuthnLibrary> {
  try {
    const [library, { decodeAttestationObject }] = await Promise.all([
      import('@simplewebauthn/server'),
      import('@simplewebauthn/server/helpers'),
    ]);
    return { ...library, decodeAttestationObject };
  } catch (cause) {
    throw new ImproperlyConfigured('auth: option "passkeys" needs the package @simplewebauthn/server', { cause });
  }
}
