import type { Static } from 'typebox';
import type {
  CHANGE_EMAIL_BODY,
  changePasswordBody,
  CONFIRM_BODY,
  REFRESH_BODY,
  registerBody,
  resetPasswordBody,
  SEND_BODY,
  SESSION_LOGIN_BODY,
} from './request-body.ts';
import type { MESSAGE } from './auth-route.ts';
import type { LoggedIn } from '../login/complete-login.ts';
import type { REGISTERED } from './register.ts';
import type { SESSIONS } from './sessions.ts';

type None = Record<never, never>;

/** A route of the client that takes no query. */
interface Route<Detail extends boolean, Body, Data> {
  readonly detail: Detail;
  readonly query: None;
  readonly body: Body;
  readonly data: Data;
  readonly errors: None;
}

/** A POST of the client that is about no record. */
interface Post<Body, Data> {
  readonly post: Route<false, Body, Data>;
}

/**
 * The routes of authentication for `createClient` of `@viewset/client`, by their place below the address of the client: with
 * `urlPrefix` `/api/auth` and the address `https://shop.example/api`, that is `auth`. Those that an option switches on are there with
 * the option.
 *
 * @example
 * const api = createClient<ApiOf<Api> & { auth: AuthApi }>({ url: 'https://shop.example/api', token: () => session.token });
 * session.token = (await api.auth.login.post({ email, password })).access_token;
 */
export interface AuthApi {
  readonly login: Post<Static<typeof SESSION_LOGIN_BODY>, LoggedIn>;
  readonly register: Post<Static<ReturnType<typeof registerBody>>, Static<typeof REGISTERED>>;
  readonly sendVerificationEmail: Post<Static<typeof SEND_BODY>, Static<typeof MESSAGE>>;
  readonly refresh: Post<Static<typeof REFRESH_BODY> | undefined, LoggedIn>;
  readonly logout: Post<undefined, undefined>;
  readonly logoutAll: Post<undefined, undefined>;
  readonly changePassword: Post<Static<ReturnType<typeof changePasswordBody>>, undefined>;
  readonly forgotPassword: Post<Static<typeof SEND_BODY>, Static<typeof MESSAGE>>;
  readonly resetPassword: Post<Static<ReturnType<typeof resetPasswordBody>>, undefined>;
  readonly changeEmail: Post<Static<typeof CHANGE_EMAIL_BODY>, Static<typeof MESSAGE>>;
  readonly confirmEmail: Post<Static<typeof CONFIRM_BODY>, Static<typeof MESSAGE>>;
}

/**
 * The sessions of an account for `createClient`, below the routes of authentication.
 *
 * @example
 * const api = createClient<ApiOf<Api> & { 'auth/sessions': SessionsApi }>({ token: () => session.token, url });
 * const others = (await api['auth/sessions'].list()).filter(({ current }) => !current);
 * await api['auth/sessions'].destroy(others[0]!.id);
 */
export interface SessionsApi {
  readonly list: Route<false, undefined, Static<typeof SESSIONS>>;
  readonly destroy: Route<true, undefined, undefined>;
}
