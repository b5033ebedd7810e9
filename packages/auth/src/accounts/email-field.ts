import { Type } from 'typebox';
import { isEmail, normalizeEmail } from './email-address.ts';

/** The schema of an address in a body. It accepts every spelling that `normalizeEmail` makes an address of. */
export const EmailAddress = Type.Refine(
  Type.String(),
  (text) => isEmail(normalizeEmail(text)),
  () => 'must be an e-mail address',
);
