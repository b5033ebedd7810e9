import { Type } from 'typebox';
import { MAX_SENT_CHARACTERS } from '../passwords/password-field.ts';

/** A code as the second factor. */
export const SecondFactorCode = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'Six digits, or a recovery code',
});

export const TWO_FACTOR_BODY = Type.Object({ code: Type.String({ minLength: 1, maxLength: 100 }) });
export const NO_TWO_FACTOR_BODY = Type.Object({
  password: Type.String({ maxLength: MAX_SENT_CHARACTERS }),
  code: SecondFactorCode,
});
/** The token of a login that waits for its second factor. A text that is none is refused by the handler. */
export const TwoFactorToken = Type.String({ maxLength: 512 });
export const SECOND_FACTOR_BODY = Type.Object({ two_factor_token: TwoFactorToken, code: SecondFactorCode });
export const TWO_FACTOR = Type.Object({ secret: Type.String(), uri: Type.String() });
export const RECOVERY_CODES = Type.Object({ recovery_codes: Type.Array(Type.String()) });
