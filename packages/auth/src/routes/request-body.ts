import { compileValidator, InvalidUsage, ParseError } from '@viewset/core';
import { type Static, type TSchema, Type } from 'typebox';
import { isEmail, MAX_EMAIL_LENGTH, normalizeEmail } from '../accounts/email-address.ts';
import { REVOCABLE } from '../accounts/remaining-access.ts';
import { normalizePassword } from '../passwords/password-hasher.ts';
import { MAX_SENT_CHARACTERS } from '../passwords/password-field.ts';
import type { PasswordRules } from '../passwords/password-rules.ts';

const MAX_NAME_LENGTH = 100;

const email = Type.String({ format: 'email', maxLength: MAX_EMAIL_LENGTH });
const name = { minLength: 1, maxLength: MAX_NAME_LENGTH };
/** No body may have a NUL character. A reader refuses it by itself, with a better message. */
const withoutNul = { pattern: '^[^\\u0000]*$' };
/** A password as documented, in any form of Unicode. A longer text is nobody's password. */
const password = Type.String({ ...withoutNul, maxLength: MAX_SENT_CHARACTERS });
const code = Type.String({ pattern: '^[0-9]{6}$', maxLength: 6 });

/** The bodies as they are documented; the readers below check them, in the order that the specification gives. */
export const LOGIN_BODY = Type.Object({ email, password });
export const SEND_BODY = Type.Object({ email });
export const CONFIRM_BODY = Type.Object({ code });
export const DELETE_BODY = Type.Object({ password });
export const CHANGE_EMAIL_BODY = Type.Object({ new_email: email, password });

/** The bodies with a new password, as documented. */
export const registerBody = ({ documented }: PasswordRules) =>
  Type.Object({ email, password: documented, name: Type.String({ ...name, ...withoutNul }), code });
export const changePasswordBody = ({ documented }: PasswordRules) =>
  Type.Object({ current_password: password, new_password: documented, revoke: REVOKE });
export const resetPasswordBody = ({ documented }: PasswordRules) =>
  Type.Object({ email, code, new_password: documented, revoke: REVOKE });
/** What proves that the owner of the account sends the request, if the login is not recent. */
export const PROOF = {
  password: Type.Optional(Type.String({ maxLength: MAX_SENT_CHARACTERS, description: 'The password of the account' })),
  code: Type.Optional(Type.String({ maxLength: 100, description: 'A code of the second factor, with the password' })),
};
export const PROOF_BODY = Type.Object(PROOF);
/** With a new password. */
export const REVOKE = Type.Optional(
  Type.Array(Type.Enum([...REVOCABLE]), {
    maxItems: 10,
    description: 'What else to revoke, which would stay otherwise',
  }),
);
const choice = {
  description: 'Where to send the refresh token: in a cookie (default), or in the body of the response',
};
export const RefreshChoice = Type.Optional(Type.Enum(['cookie', 'body'], choice));
/** With sessions. */
export const SESSION_LOGIN_BODY = Type.Object({ ...LOGIN_BODY.properties, refresh: RefreshChoice });
export const REFRESH_BODY = Type.Object({ refresh_token: Type.Optional(Type.String({ maxLength: 512 })) });

/** A refinement gets values of any type; one that is not a string must get only that message. */
const Email = Type.Refine(
  Type.String(),
  (text: unknown) => typeof text !== 'string' || isEmail(text),
  () => `must be an e-mail address of at most ${MAX_EMAIL_LENGTH} characters`,
);
const Credential = Type.Optional(Type.Union([Type.String(), Type.Null()]));

type Normalize = (text: string) => string;

/**
 * The readers of the routes' bodies. Each throws InvalidUsage with every wrong field in its details, and ParseError
 * without a body. They trim addresses, convert them to lower case, and normalize new passwords.
 */
export const readCredentials = bodyReader(Type.Object({ email: Credential, password: Credential }), {
  email: normalizeEmail,
});
/** The Account write shape of the specification. */
export const accountReader = ({ field }: PasswordRules) =>
  bodyReader(Type.Object({ email: Email, password: field, name: Type.String(name) }), {
    email: normalizeEmail,
    password: normalizePassword,
  });
export const readAddress = bodyReader(Type.Object({ email: Email }), { email: normalizeEmail });
export const passwordChangeReader = ({ field }: PasswordRules) =>
  bodyReader(Type.Object({ current_password: Type.String(), new_password: field, revoke: REVOKE }), {
    new_password: normalizePassword,
  });
export const passwordResetReader = ({ field }: PasswordRules) =>
  bodyReader(Type.Object({ email: Email, new_password: field, revoke: REVOKE }), {
    email: normalizeEmail,
    new_password: normalizePassword,
  });
export const readEmailChange = bodyReader(Type.Object({ new_email: Email, password: Type.String() }), {
  new_email: normalizeEmail,
});
export const readPassword = bodyReader(Type.Object({ password: Type.String() }), {});

export const readRefreshChoice = bodyReader(Type.Object({ refresh: RefreshChoice }), {});

/** A refresh by the cookie needs no body. */
export const readRefresh = optionalBodyReader(Type.Object({ refresh_token: Type.Optional(Type.String()) }));

/** After a recent login no body is needed. */
export const readProof = optionalBodyReader(PROOF_BODY);

const readCodeField = bodyReader(Type.Object({ code: Type.String({ minLength: 1 }) }), {});

/** Reads the verification code, after the rest of the body is valid. */
export function readCode(body: unknown, event: string): string {
  if ((body as { code?: unknown } | null)?.code === null) throw wrongCode('is required', event);
  return readCodeField(body).code;
}

/** @param event the security event of a code that is wrong */
export function wrongCode(message: string, event: string): InvalidUsage {
  const details = [{ in: 'body', path: '/code', message }] as const;
  return new InvalidUsage(`The verification code ${message}`, { details, event });
}

/**
 * Makes a reader that normalizes fields before it checks the body, because length limits apply to the stored values.
 */
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

/** Makes a reader for a body that may be missing, which counts as `{}`. JSON null is a body, and no object. */
export function optionalBodyReader<Schema extends TSchema>(schema: Schema): (body: unknown) => Static<Schema> {
  const read = bodyReader(schema, {});
  return (body) => read(body === undefined ? {} : body);
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
