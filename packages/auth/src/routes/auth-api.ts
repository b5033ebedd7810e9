import type { Static } from 'typebox';
import type {
  CHANGE_EMAIL_BODY,
  changePasswordBody,
  CONFIRM_BODY,
  DELETE_BODY,
  REFRESH_BODY,
  registerBody,
  resetPasswordBody,
  SEND_BODY,
  SESSION_LOGIN_BODY,
} from './request-body.ts';
import type { acceptBody } from './accept-invitation.ts';
import type { API_KEY_BODY, API_KEYS, NEW_API_KEY } from './api-keys.ts';
import type { MESSAGE } from './auth-route.ts';
import type { LoginLinkBody } from './login-link.ts';
import type { LoggedIn } from '../login/complete-login.ts';
import type { REGISTERED } from './register.ts';
import type { SESSIONS } from './sessions.ts';
import type {
  NO_TWO_FACTOR_BODY,
  RECOVERY_CODES,
  SECOND_FACTOR_BODY,
  TWO_FACTOR,
  TWO_FACTOR_BODY,
} from './two-factor-bodies.ts';

type None = Record<never, never>;

/** A client's route without a query. */
interface Route<Detail extends boolean, Body, Data> {
  readonly detail: Detail;
  readonly query: None;
  readonly body: Body;
  readonly data: Data;
  readonly errors: None;
}

/** A client's POST without a record. */
interface Post<Body, Data> {
  readonly post: Route<false, Body, Data>;
}

/**
 * The routes of authentication, as a type for `createClient` of `@viewset/client`. Its name is the path below the client's URL: with the
 * `urlPrefix` `/api/auth` and the URL `https://shop.example/api`, that is `auth`. Some routes exist only with their option. With
 * `twoFactor`, a login may have another response: write `AuthApi<LoginAnswer>`. With `me`, add `MeApi`.
 *
 * @example
 * const api = createClient<ApiOf<Api> & { auth: AuthApi }>({ url: 'https://shop.example/api', token: () => session.token });
 * session.token = (await api.auth.login.post({ email, password })).access_token;
 */
export interface AuthApi<Answer = LoggedIn> {
  readonly login: Post<Static<typeof SESSION_LOGIN_BODY>, Answer>;
  readonly register: Post<Static<ReturnType<typeof registerBody>>, Static<typeof REGISTERED>>;
  readonly sendVerificationEmail: Post<Static<typeof SEND_BODY>, Static<typeof MESSAGE>>;
  readonly refresh: Post<Static<typeof REFRESH_BODY> | undefined, LoggedIn>;
  readonly logout: Post<Static<typeof REFRESH_BODY> | undefined, undefined>;
  readonly logoutAll: Post<Static<typeof REFRESH_BODY> | undefined, undefined>;
  readonly changePassword: Post<Static<ReturnType<typeof changePasswordBody>>, undefined>;
  readonly forgotPassword: Post<Static<typeof SEND_BODY>, Static<typeof MESSAGE>>;
  readonly resetPassword: Post<Static<ReturnType<typeof resetPasswordBody>>, undefined>;
  readonly changeEmail: Post<Static<typeof CHANGE_EMAIL_BODY>, Static<typeof MESSAGE>>;
  readonly confirmEmail: Post<Static<typeof CONFIRM_BODY>, Static<typeof MESSAGE>>;
  readonly acceptInvitation: Post<Static<ReturnType<typeof acceptBody>>, Static<typeof REGISTERED>>;
  readonly loginLink: Post<Static<typeof SEND_BODY>, Static<typeof MESSAGE>>;
  readonly twoFactor: Post<{ readonly password?: string } | undefined, Static<typeof TWO_FACTOR>> & {
    readonly delete: Route<false, Static<typeof NO_TWO_FACTOR_BODY>, undefined>;
  };
}

/**
 * The routes of the user's own account, for `createClient`. The types are those of its read and write shapes.
 *
 * @example
 * const api = createClient<ApiOf<Api> & { auth: AuthApi & MeApi<{ id: number; name: string }> }>({ token: () => session.token, url });
 * await api.auth.me.patch({ name: 'Ada' });
 */
export interface MeApi<Me extends object, Changes extends object = Partial<Me>> {
  readonly me: {
    readonly get: Route<false, undefined, Me>;
    readonly patch: Route<false, Changes, Me>;
    readonly delete: Route<false, Static<typeof DELETE_BODY>, undefined>;
  };
}

/**
 * The second step of a login for `createClient`, below `login` of the routes of authentication.
 *
 * @example
 * const api = createClient<{ auth: AuthApi<LoginAnswer>; 'auth/login': SecondFactorApi }>({ url });
 * const { two_factor_token } = await api.auth.login.post({ email, password });
 * if (two_factor_token !== undefined) await api['auth/login'].twoFactor.post({ two_factor_token, code: '123456' });
 */
export interface SecondFactorApi {
  readonly twoFactor: Post<Static<typeof SECOND_FACTOR_BODY>, LoggedIn>;
}

/**
 * The second step of a login by a link for `createClient`, below `login-link` of the routes of authentication. With
 * `twoFactor`, write `LoginLinkApi<LoginAnswer>`.
 *
 * @example
 * const api = createClient<{ auth: AuthApi; 'auth/login-link': LoginLinkApi }>({ url });
 * await api.auth.loginLink.post({ email: 'ann@example.com' });
 * const { access_token } = await api['auth/login-link'].confirm.post({ token: '…' }); // of the link in the mail
 */
export interface LoginLinkApi<Answer = LoggedIn> {
  readonly confirm: Post<LoginLinkBody, Answer>;
}

/**
 * The confirmation of two factors for `createClient`, below `two-factor` of the routes of authentication.
 *
 * @example
 * const api = createClient<{ auth: AuthApi; 'auth/two-factor': TwoFactorApi }>({ token: () => session.token, url });
 * const { uri } = await api.auth.twoFactor.post();   // shown as a QR code
 * const { recovery_codes } = await api['auth/two-factor'].confirm.post({ code: '123456' });
 */
export interface TwoFactorApi {
  readonly confirm: Post<Static<typeof TWO_FACTOR_BODY>, Static<typeof RECOVERY_CODES>>;
}

/**
 * The API keys of an account for `createClient`, below the routes of authentication.
 *
 * @example
 * const api = createClient<{ 'auth/api-keys': ApiKeysApi }>({ token: () => session.token, url });
 * const created = await api['auth/api-keys'].create({ name: 'backup' });   // `created.key` is shown once
 */
export interface ApiKeysApi {
  readonly list: Route<false, undefined, Static<typeof API_KEYS>>;
  readonly create: Route<false, Static<typeof API_KEY_BODY>, Static<typeof NEW_API_KEY>>;
  readonly destroy: Route<true, undefined, undefined>;
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
