import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hostCookie, readCookies, setCookie } from '../browsers/cookies.ts';
import { CHALLENGE_LIFETIME_MS } from './passkey-challenges.ts';

const NAME = 'passkey';
const VALUE = /^[\w-]{43}$/;

/** The browser that asked for a challenge to log in; undefined if it did not, and for two cookies, one of which somebody has planted. */
export function loginBrowser(request: FastifyRequest): string | undefined {
  const [value, ...others] = readCookies(request, hostCookie(request, NAME).name);
  return others.length === 0 && VALUE.test(value ?? '') ? value : undefined;
}

/** Has the browser keep that it asked for a challenge. Two tabs share the cookie, so that either can answer. */
export function rememberLoginBrowser(request: FastifyRequest, reply: FastifyReply): string {
  const browser = loginBrowser(request) ?? randomBytes(32).toString('base64url');
  setCookie(request, reply, hostCookie(request, NAME), browser, CHALLENGE_LIFETIME_MS / 1000);
  return browser;
}
