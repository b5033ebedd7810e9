import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hostCookie, readCookies, setCookie } from '../browsers/cookies.ts';
import { CHALLENGE_LIFETIME_MS } from './passkey-challenges.ts';

const NAME = 'passkey';
const VALUE = /^[\w-]{43}$/;

/**
 * Returns the browser that asked for a login challenge; undefined without a cookie, and for two cookies, because
 * somebody has planted one.
 */
export function loginBrowser(request: FastifyRequest): string | undefined {
  const [value, ...others] = readCookies(request, hostCookie(request, NAME).name);
  return others.length === 0 && VALUE.test(value ?? '') ? value : undefined;
}

/** Makes the browser remember that it asked for a challenge. Tabs share the cookie, so any of them can answer. */
export function rememberLoginBrowser(request: FastifyRequest, reply: FastifyReply): string {
  const browser = loginBrowser(request) ?? randomBytes(32).toString('base64url');
  setCookie(request, reply, hostCookie(request, NAME), browser, CHALLENGE_LIFETIME_MS / 1000);
  return browser;
}
