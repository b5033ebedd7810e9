import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Cookie, readCookies, setCookie } from '../browsers/cookies.ts';
import type { OpenSession } from './sessions.ts';

/**
 * The cookie that contains a refresh token. Browsers send it only to the auth routes. Its name therefore cannot have
 * the prefix `__Host-`, which requires the path `/`.
 */
export class RefreshCookie {
  readonly #cookie: Cookie;

  /** @param path the prefix of the routes */
  constructor(path: string) {
    this.#cookie = { name: 'refresh_token', path: path === '' ? '/' : path };
  }

  /** The token; undefined without a cookie, and for two of them: a page of a neighbouring domain may have planted one. */
  read(request: FastifyRequest): string | undefined {
    const [token, ...others] = readCookies(request, this.#cookie.name);
    return others.length === 0 ? token : undefined;
  }

  set(request: FastifyRequest, reply: FastifyReply, { refreshToken, expiresAt }: OpenSession): void {
    const seconds = Math.ceil((expiresAt.getTime() - Date.now()) / 1000);
    setCookie(request, reply, this.#cookie, refreshToken, seconds);
  }

  clear(request: FastifyRequest, reply: FastifyReply): void {
    setCookie(request, reply, this.#cookie, '', 0);
  }
}
