import type { Static } from 'typebox';
import type { LOGIN_BODY, registerBody, SEND_BODY } from '../request-body.ts';
import type { MESSAGE } from './auth-route.ts';
import type { LOGGED_IN } from './complete-login.ts';
import type { REGISTERED } from './register.ts';

/** A POST of the client that is about no record. */
interface Post<Body, Data> {
  readonly post: {
    readonly detail: false;
    readonly query: Record<never, never>;
    readonly body: Body;
    readonly data: Data;
    readonly errors: Record<never, never>;
  };
}

/**
 * The routes of authentication for `createClient` of `@viewset/client`, by their place below the address of the client: with
 * `urlPrefix` `/api/auth` and the address `https://shop.example/api`, that is `auth`.
 *
 * @example
 * const api = createClient<ApiOf<Api> & { auth: AuthApi }>({ url: 'https://shop.example/api', token: () => session.token });
 * session.token = (await api.auth.login.post({ email, password })).access_token;
 */
export interface AuthApi {
  readonly login: Post<Static<typeof LOGIN_BODY>, Static<typeof LOGGED_IN>>;
  readonly register: Post<Static<ReturnType<typeof registerBody>>, Static<typeof REGISTERED>>;
  readonly sendVerificationEmail: Post<Static<typeof SEND_BODY>, Static<typeof MESSAGE>>;
}
