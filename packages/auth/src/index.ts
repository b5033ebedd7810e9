export { auth, type AuthInstance } from './auth.ts';
export type {
  ApiKeysApi,
  AuthApi,
  LoginLinkApi,
  MeApi,
  SecondFactorApi,
  SessionsApi,
  TwoFactorApi,
} from './routes/auth-api.ts';
export type { AuthRouteName } from './routes/route-names.ts';
export type { CompleteLogin, LoginAnswer, LoginChoices } from './login/complete-login.ts';
export type { VerifyLogin } from './login/verify-login.ts';
export type { TokenAccount } from './tokens/access-tokens.ts';
export type { ApiKeyOptions, AuthOptions, MeOptions, TwoFactorOptions } from './auth-options.ts';
export type { AccountDeletion } from './accounts/account-deletion.ts';
export type { AfterRegistration, RegisteredAccount } from './accounts/after-registration.ts';
export { authSettings, type AuthSettings } from './settings.ts';

export type { AccountFields, AccountNames, AccountSchema } from './accounts/account-contract.ts';
export type { SessionFields, SessionSchema } from './sessions/session-contract.ts';
export type { PasskeyFields, PasskeySchema } from './passkeys/passkey-contract.ts';
export type { PasskeyOptions } from './passkeys/passkey-options.ts';
export type { SessionOptions } from './sessions/session-options.ts';
export type { RefreshCookieOptions } from './sessions/refresh-cookie.ts';
export { AccountUser, type UserOf } from './accounts/accounts.ts';
export type { RemainingAccess } from './accounts/remaining-access.ts';
export type { ApiKeyFields, ApiKeySchema } from './api-keys/api-key-contract.ts';
export { ApiKeyUser, type UsedApiKey } from './api-keys/api-keys.ts';
export type { IdentityFields, IdentitySchema } from './oauth/identity-contract.ts';
export type { AppleKey } from './oauth/apple-secret.ts';
export type { OpenidKind } from './oauth/known-services.ts';
export type { InvitationEmail, InvitationOptions, InvitedAccount } from './invitations/invitation-options.ts';
export type { LoginLinkEmail, LoginLinkOptions } from './login-link/login-link-options.ts';
export type { OAuthOptions } from './oauth/oauth-options.ts';
export type { OAuthProfile } from './oauth/oauth-profile.ts';
export type { OAuth2Api, OAuth2Provider } from './oauth/oauth2-provider.ts';
export type { OAuthProvider } from './oauth/provider-options.ts';
export type { TwoFactorFields, TwoFactorSchema } from './two-factors/two-factor-contract.ts';
export { HasPermission } from './accounts/has-permission.ts';
export {
  type AccountChanges,
  type AccountRecord,
  AccountViewSet,
  type AccountViewSetOptions,
} from './views/account-viewset.ts';
export { type AdministratorOptions, keepAdministrator, type KeepAdministrator } from './views/keep-administrator.ts';
export { type RoleChanges, type RoleRecord, RoleViewSet, type RoleViewSetOptions } from './views/role-viewset.ts';
export { type SessionRecord, SessionViewSet, type SessionViewSetOptions } from './views/session-viewset.ts';
export type { ReadyViewClass, ReadyViewOptions } from './views/view-class.ts';
export {
  type MemberRecord,
  type MembershipViewSetOptions,
  organizations,
  type Organizations,
} from './organizations/organizations.ts';
export type { OrganizationEmail, OrganizationInvitationOptions } from './organizations/organization-invitations.ts';
export type { OrganizationsOptions } from './organizations/organization-options.ts';
export { AccountSubscriber } from './accounts/account-subscriber.ts';
export type { Argon2Library, Argon2Options } from './passwords/argon2-hashing.ts';
export { passwordField, type PasswordFieldOptions, type PasswordLengths } from './passwords/password-field.ts';
export { PasswordHasher, type PasswordHasherOptions } from './passwords/password-hasher.ts';
export type { IsCommonPassword, PasswordOptions, PasswordOwner } from './passwords/password-rules.ts';
export {
  type CodeSender,
  type CountedSend,
  type CountSendOptions,
  type TakenCode,
  VerificationCodes,
} from './codes/verification-codes.ts';

export type { Authenticate, AuthPayload, RetrieveUser, StoreUser } from './tokens/authentication.ts';
export { NonAuthEndpoints } from './tokens/non-auth-endpoints.ts';
export type { JwtClaims, JwtHelpers, JwtSignOptions, JwtVerifyOptions } from './tokens/jwt-helpers.ts';
export type { TokenAlgorithm, TokenKeys, VerifyingKey } from './tokens/signing-keys.ts';

export {
  LogEmailSender,
  type EmailChangeNotice,
  type EmailSender,
  type EmailText,
  type PasswordChangeNotice,
  type VerificationEmail,
} from './codes/email-sender.ts';
export { SmtpEmailSender, type SmtpOptions } from './codes/smtp-email-sender.ts';
export { isEmail, normalizeEmail } from './accounts/email-address.ts';
