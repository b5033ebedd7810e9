import { type Static, Type } from 'typebox';

/** Longer than any authenticator's answer; the body as a whole is limited to less. */
const MAX_LENGTH = 16_384;
const Base64Url = Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength: MAX_LENGTH });
const credential = { id: Base64Url, rawId: Base64Url, type: Type.Literal('public-key') };

/** The JSON of `navigator.credentials.create()`, as its `toJSON()` writes it. */
export const NEW_CREDENTIAL = Type.Object(
  {
    ...credential,
    response: Type.Object({
      clientDataJSON: Base64Url,
      attestationObject: Base64Url,
      transports: Type.Optional(Type.Array(Type.String({ pattern: '^[a-z-]+$', maxLength: 20 }), { maxItems: 10 })),
    }),
  },
  { title: 'RegistrationResponseJSON', description: 'The answer of `navigator.credentials.create()`' },
);
export type NewCredential = Static<typeof NEW_CREDENTIAL>;

/** The JSON of `navigator.credentials.get()`, as its `toJSON()` writes it. */
export const ASSERTION = Type.Object(
  {
    ...credential,
    response: Type.Object({
      clientDataJSON: Base64Url,
      authenticatorData: Base64Url,
      signature: Base64Url,
      userHandle: Type.Optional(Type.Union([Base64Url, Type.Null()])),
    }),
  },
  { title: 'AuthenticationResponseJSON', description: 'The answer of `navigator.credentials.get()`' },
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
