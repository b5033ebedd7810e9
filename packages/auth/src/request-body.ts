import { compileValidator, InvalidUsage, ParseError } from '@viewset/core';
import { type Static, type TSchema, Type } from 'typebox';
import { isEmail, MAX_EMAIL_LENGTH, normalizeEmail } from './email-address.ts';
import { passwordField } from './password-field.ts';
import { MAX_PASSWORD_BYTES, normalizePassword } from './password-hasher.ts';

const MIN_PASSWORD_LENGTH = 6;
const MAX_PASSWORD_LENGTH = 50;
const MAX_NAME_LENGTH = 100;

const email = Type.String({ format: 'email', maxLength: MAX_EMAIL_LENGTH });
const password = { minLength: MIN_PASSWORD_LENGTH, maxLength: MAX_PASSWORD_LENGTH };
const name = { minLength: 1, maxLength: MAX_NAME_LENGTH };
/** No body may have a NUL character. A reader refuses it by itself, with a better message. */
const withoutNul = { pattern: '^[^\\u0000]*$' };

/** The bodies as they are documented; the readers below check them, in the order that the specification gives. */
export const LOGIN_BODY = Type.Object({ email, password: Type.String(withoutNul) });
export const REGISTER_BODY = Type.Object({
  email,
  password: Type.String({ ...password, ...withoutNul, description: `At most ${MAX_PASSWORD_BYTES} bytes of UTF-8` }),
  name: Type.String({ ...name, ...withoutNul }),
  code: Type.String({ pattern: '^[0-9]{6}$' }),
});
export const SEND_BODY = Type.Object({ email });

/** A refinement sees values of any type; what is no text is told so, and only so. */
const Email = Type.Refine(
  Type.String(),
  (text: unknown) => typeof text !== 'string' || isEmail(text),
  () => `must be an e-mail address of at most ${MAX_EMAIL_LENGTH} characters`,
);
const Credential = Type.Optional(Type.Union([Type.String(), Type.Null()]));

type Normalize = (text: string) => string;

/**
 * The readers of the three routes' bodies. Each throws InvalidUsage with every offending field in its details, and
 * ParseError if there is no body. Addresses come out trimmed and in lower case, the password of a new account normalized.
 */
export const readCredentials = bodyReader(Type.Object({ email: Credential, password: Credential }), {
  email: normalizeEmail,
});
/** The Account write shape of the specification. */
export const readAccount = bodyReader(
  Type.Object({ email: Email, password: passwordField(), name: Type.String(name) }),
  {
    email: normalizeEmail,
    password: normalizePassword,
  },
);
export const readAddress = bodyReader(Type.Object({ email: Email }), { email: normalizeEmail });

const readCodeField = bodyReader(Type.Object({ code: Type.String({ minLength: 1 }) }), {});

/** The verification code: asked for only after the rest of the registration is in order. */
export function readCode(body: unknown): string {
  if ((body as { code?: unknown } | null)?.code === null) throw wrongCode('is required');
  return readCodeField(body).code;
}

export function wrongCode(message: string): InvalidUsage {
  const details = [{ in: 'body', path: '/code', message }] as const;
  return new InvalidUsage(`The verification code ${message}`, { details, event: 'auth.registration_failed' });
}

/** Makes a reader that normalizes fields before it checks the body: their lengths are those of what is stored. */
export function bodyReader<Schema extends TSchema>(
  schema: Schema,
  normal: Readonly<Record<string, Normalize>>,
): (body: unknown) => Static<Schema> {
  const validate = compileValidator(schema, 'body');
  return (body) => {
    if (body === undefined) throw new ParseError('A JSON body is required');
    return validate(withNormalFields(body, normal)) as Static<Schema>;
  };
}

function withNormalFields(body: unknown, normal: Readonly<Record<string, Normalize>>): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const fields: Record<string, unknown> = { ...body };
  for (const [field, normalize] of Object.entries(normal)) {
    const text = fields[field];
    if (typeof text === 'string') fields[field] = normalize(text);
  }
  return fields;
}
