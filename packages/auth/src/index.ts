export { auth, type AuthInstance } from './auth.ts';
export type { AuthApi, SessionsApi } from './routes/auth-api.ts';
export type { AuthRouteName } from './routes/route-names.ts';
export type { CompleteLogin, LoginAnswer, LoginChoices } from './routes/complete-login.ts';
export type { VerifyLogin } from './verify-login.ts';
export type { TokenAccount } from './access-tokens.ts';
export type { ApiKeyOptions, AuthOptions, MeOptions, TwoFactorOptions } from './auth-options.ts';
export type { AccountDeletion } from './routes/me.ts';
export { authSettings, type AuthSettings } from './settings.ts';

export type { AccountFields, AccountNames, AccountSchema } from './account-contract.ts';
export type { SessionFields, SessionSchema } from './session-contract.ts';
export type { SessionOptions } from './session-options.ts';
export { AccountUser, type UserOf } from './accounts.ts';
export type { ApiKeyFields, ApiKeySchema } from './api-key-contract.ts';
export { ApiKeyUser, type UsedApiKey } from './api-keys.ts';
export type { IdentityFields, IdentitySchema } from './identity-contract.ts';
export type { OAuthOptions, OAuthProvider } from './oauth-options.ts';
export type { TwoFactorFields, TwoFactorSchema } from './two-factor-contract.ts';
export { HasPermission } from './has-permission.ts';
export { AccountSubscriber } from './account-subscriber.ts';
export type { Argon2Library, Argon2Options } from './argon2-hashing.ts';
export { passwordField, type PasswordFieldOptions, type PasswordLengths } from './password-field.ts';
export { PasswordHasher, type PasswordHasherOptions } from './password-hasher.ts';
export type { IsCommonPassword, PasswordOptions, PasswordOwner } from './password-rules.ts';
export { type TakenCode, VerificationCodes } from './verification-codes.ts';

export type { Authenticate, AuthPayload, RetrieveUser, StoreUser } from './authentication.ts';
export { NonAuthEndpoints } from './non-auth-endpoints.ts';
export type { TokenAlgorithm, TokenKeys } from './signing-keys.ts';

export {
  LogEmailSender,
  type EmailChangeNotice,
  type EmailSender,
  type EmailText,
  type VerificationEmail,
} from './email-sender.ts';
export { SmtpEmailSender, type SmtpOptions } from './smtp-email-sender.ts';
export { isEmail, normalizeEmail } from './email-address.ts';
