import type { AuthOptions } from '../auth-options.ts';

/** Each name of the option `routes`, and the option that switches it on; undefined: the route needs none. */
const ROUTE_OPTIONS = {
  login: undefined,
  register: undefined,
  'send-verification-email': undefined,
} as const satisfies Record<string, keyof AuthOptions | undefined>;

/** What the option `routes` calls a route: its path below the prefix. The methods of one path share a name. */
export type AuthRouteName = keyof typeof ROUTE_OPTIONS;

export const AUTH_ROUTE_NAMES = Object.keys(ROUTE_OPTIONS) as readonly AuthRouteName[];

/** The routes that need no token as long as `nonAuthEndpoints` is left to its default. */
export const LISTED_ROUTES: readonly AuthRouteName[] = ['login', 'register', 'send-verification-email'];

/** The option that switches a route on; undefined if it needs none. */
export function optionOf(name: AuthRouteName): keyof AuthOptions | undefined {
  return ROUTE_OPTIONS[name];
}
