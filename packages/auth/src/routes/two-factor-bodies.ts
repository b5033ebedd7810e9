import { Type } from 'typebox';

/** A code as the second factor. */
export const SecondFactorCode = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'Six digits, or a recovery code',
});

export const TWO_FACTOR_BODY = Type.Object({ code: Type.String({ minLength: 1, maxLength: 100 }) });
export const NO_TWO_FACTOR_BODY = Type.Object({ password: Type.String(), code: SecondFactorCode });
export const SECOND_FACTOR_BODY = Type.Object({ two_factor_token: Type.String(), code: SecondFactorCode });
export const TWO_FACTOR = Type.Object({ secret: Type.String(), uri: Type.String() });
export const RECOVERY_CODES = Type.Object({ recovery_codes: Type.Array(Type.String()) });
