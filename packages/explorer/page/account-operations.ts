import type { Operation } from './api-model.ts';

/** The ids of the operations of accounts that the page knows what to do with; the document has them under the tag `auth`. */
const IDS = [
  'loginTwoFactor',
  'refresh',
  'logout',
  'logoutAll',
  'listSessions',
  'endSession',
  'me',
  'changeMe',
  'deleteMe',
  'changePassword',
  'forgotPassword',
  'resetPassword',
  'changeEmail',
  'confirmEmail',
  'sendVerificationEmail',
  'register',
  'beginTwoFactor',
  'confirmTwoFactor',
  'destroyTwoFactor',
  'listApiKeys',
  'createApiKey',
  'destroyApiKey',
  'listPasskeys',
  'passkeyOptions',
  'addPasskey',
  'deletePasskey',
  'passkeyLoginOptions',
  'passkeyLogin',
  'oauth',
] as const;

/** The operations of accounts that an API has. */
export type AccountOperations = Readonly<Partial<Record<(typeof IDS)[number], Operation>>>;

export function accountOperations(operations: readonly Operation[]): AccountOperations {
  const found = operations.filter(({ id, isOfAccounts }) => isOfAccounts && (IDS as readonly string[]).includes(id));
  return Object.fromEntries(found.map((operation) => [operation.id, operation]));
}

/** The pages of one's own account, by their names in the address, each with the operation without which there is none. */
const PAGES = {
  profile: 'me',
  password: 'changePassword',
  email: 'changeEmail',
  sessions: 'listSessions',
  'two-factor': 'beginTwoFactor',
  passkeys: 'listPasskeys',
  'api-keys': 'listApiKeys',
} as const satisfies Readonly<Record<string, keyof AccountOperations>>;

export type AccountPageName = keyof typeof PAGES;

/** The pages of one's own account that an API has. */
export function accountPages(operations: AccountOperations): readonly AccountPageName[] {
  return (Object.keys(PAGES) as AccountPageName[]).filter((name) => operations[PAGES[name]] !== undefined);
}
