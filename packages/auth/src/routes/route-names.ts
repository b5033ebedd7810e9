/** Each name of the option `routes`, and the plugin's option that enables it; null: always enabled. */
export const ROUTE_OPTIONS = {
  login: null,
  register: null,
  'send-verification-email': null,
  'api-keys': 'apiKeys',
  'two-factor': 'twoFactor',
  oauth: 'oauth',
  'change-password': 'passwords',
  'forgot-password': 'passwords',
  'reset-password': 'passwords',
  me: 'me',
  'change-email': 'me',
  'confirm-email': 'me',
  refresh: 'sessions',
  logout: 'sessions',
  'logout-all': 'sessions',
  sessions: 'sessions',
  passkeys: 'passkeys',
  'login-passkey': 'passkeys',
  'login-link': 'loginLink',
  'accept-invitation': 'invitations',
  jwks: 'keys',
} as const;

/** The name of a route in the option `routes`: its path below the prefix. The methods of a path share a name. */
export type AuthRouteName = keyof typeof ROUTE_OPTIONS;

export const AUTH_ROUTE_NAMES = Object.keys(ROUTE_OPTIONS) as readonly AuthRouteName[];

/** The routes that send mail. */
export const MAILING_ROUTES = [
  'send-verification-email',
  'forgot-password',
  'change-email',
  'login-link',
  'accept-invitation',
] as const satisfies readonly AuthRouteName[];
export type MailingRoute = (typeof MAILING_ROUTES)[number];

/** The routes that need no token as long as `nonAuthEndpoints` is left to its default. */
export const LISTED_ROUTES: readonly AuthRouteName[] = ['login', 'register', 'send-verification-email'];
