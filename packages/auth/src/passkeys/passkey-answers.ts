import { type Static, Type } from 'typebox';
import { MAX_CREDENTIAL_ID_LENGTH } from './passkey-contract.ts';

/** A text in base64url. The lengths are above those of any authenticator's answer. */
const base64Url = (maxLength: number) => Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength });
const id = base64Url(MAX_CREDENTIAL_ID_LENGTH);
const credential = { id, rawId: id, type: Type.Literal('public-key') };
const clientDataJSON = base64Url(4096);

/** The JSON of `navigator.credentials.create()`, as its `toJSON()` writes it. */
export const NEW_CREDENTIAL = Type.Object(
  {
    ...credential,
    response: Type.Object({
      clientDataJSON,
      attestationObject: base64Url(16_384),
      transports: Type.Optional(Type.Array(Type.String({ pattern: '^[a-z-]+$', maxLength: 20 }), { maxItems: 10 })),
    }),
  },
  { title: 'RegistrationResponseJSON', description: 'The result of `navigator.credentials.create()`' },
);
export type NewCredential = Static<typeof NEW_CREDENTIAL>;

/** The JSON of `navigator.credentials.get()`, as its `toJSON()` writes it. */
export const ASSERTION = Type.Object(
  {
    ...credential,
    response: Type.Object({
      clientDataJSON,
      authenticatorData: base64Url(4096),
      signature: base64Url(4096),
      userHandle: Type.Optional(Type.Union([base64Url(128), Type.Null()])),
    }),
  },
  { title: 'AuthenticationResponseJSON', description: 'The result of `navigator.credentials.get()`' },
);
export type Assertion = Static<typeof ASSERTION>;

/** Returns the challenge in an answer; undefined if it cannot be read, or comes from a frame in another site's page. */
export function challengeOf({ response }: NewCredential | Assertion): string | undefined {
  try {
    const text = Buffer.from(response.clientDataJSON, 'base64url').toString();
    const { challenge, crossOrigin } = JSON.parse(text) as { challenge?: unknown; crossOrigin?: unknown };
    return typeof challenge === 'string' && crossOrigin !== true ? challenge : undefined;
  } catch {
    return undefined;
  }
}
