import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Cookie, readCookies, setCookie } from '../browsers/cookies.ts';
import { publicPath } from '../browsers/forwarded-prefix.ts';
import type { OpenSession } from './sessions.ts';

/** The cookie of refresh tokens, as the application wants it. */
export interface RefreshCookieOptions {
  /** Default: `refresh_token`. Two applications on one host need different names, or each logs the users of the other out. */
  readonly name?: string;
  /**
   * The path as the browser sees it. Default: the prefix of the routes, behind the prefix that a trusted proxy sends in
   * `X-Forwarded-Prefix`.
   */
  readonly path?: string;
}

/**
 * The cookie that contains a refresh token. Browsers send it only to the auth routes. Its name therefore cannot have
 * the prefix `__Host-`, which requires the path `/`.
 */
export class RefreshCookie {
  readonly #cookie: Cookie;

  readonly #isPathGiven: boolean;

  /**
   * @param prefix of the routes, which is the path by default
   * @param options of the application
   */
  constructor(prefix: string, { name = 'refresh_token', path }: RefreshCookieOptions = {}) {
    this.#isPathGiven = path !== undefined;
    this.#cookie = { name, path: path ?? prefix };
  }

  /** The token; undefined without a cookie, and for two of them: a page of a neighbouring domain may have planted one. */
  read(request: FastifyRequest): string | undefined {
    const [token, ...others] = readCookies(request, this.#cookie.name);
    return others.length === 0 ? token : undefined;
  }

  set(request: FastifyRequest, reply: FastifyReply, { refreshToken, expiresAt }: OpenSession): void {
    const seconds = Math.ceil((expiresAt.getTime() - Date.now()) / 1000);
    setCookie(request, reply, this.#of(request), refreshToken, seconds);
  }

  clear(request: FastifyRequest, reply: FastifyReply): void {
    setCookie(request, reply, this.#of(request), '', 0);
  }

  /** A path that the application gives is the browser's already. */
  #of(request: FastifyRequest): Cookie {
    const { name, path } = this.#cookie;
    return { name, path: (this.#isPathGiven ? path : publicPath(request, path)) || '/' };
  }
}
