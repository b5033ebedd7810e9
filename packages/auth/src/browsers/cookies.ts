import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from './loopback.ts';

/** A cookie that no script of a page can read and that no other site's page can have sent. */
export interface Cookie {
  readonly name: string;
  readonly path: string;
  /**
   * `Lax`: browsers also send it when another site navigates here. `None`: with every request, also a form that another
   * site sends; browsers drop it without `Secure`. Default: `Strict`.
   */
  readonly sameSite?: 'Strict' | 'Lax' | 'None';
}

/** Returns all values with a name, because a page of a neighbouring domain may have added one. */
export function readCookies(request: FastifyRequest, name: string): string[] {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}

/** Returns all cookies whose name begins so. */
export function cookiesNamed(request: FastifyRequest, prefix: string): { name: string; value: string }[] {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.flatMap((pair) => {
    const end = pair.indexOf('=');
    return end > 0 && pair.startsWith(prefix) ? [{ name: pair.slice(0, end), value: pair.slice(end + 1) }] : [];
  });
}

/** @param value of characters that a cookie may have as they are */
export function setCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { name, path, sameSite = 'Strict' }: Cookie,
  value: string,
  maxAgeSeconds: number,
): void {
  const attributes = [`Max-Age=${maxAgeSeconds}`, `Path=${path}`, 'HttpOnly', `SameSite=${sameSite}`];
  const secure = isSecure(request);
  if (secure || sameSite === 'None') attributes.push('Secure');
  if (secure) warnOfPlainHttp(request);
  reply.header('set-cookie', [`${name}=${value}`, ...attributes].join('; '));
}

/**
 * Names a cookie with the path `/`. With the prefix, browsers reject it from a neighbouring domain or over plain HTTP.
 */
export function hostCookie(request: FastifyRequest, name: string): Cookie {
  return { name: isSecure(request) ? `__Host-${name}` : name, path: '/' };
}

/** A proxy in front writes these. */
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip', 'via'];

const warned = new WeakSet<object>();

/** A browser that uses plain HTTP with another machine drops `Secure` cookies. Says so once for each server. */
function warnOfPlainHttp(request: FastifyRequest): void {
  const { server } = request.server;
  if (request.protocol === 'https' || isForwarded(request) || warned.has(server)) return;
  warned.add(server);
  request.log.warn(
    { host: request.host },
    'auth: a Secure cookie is sent over plain HTTP, so the browser drops it: use HTTPS, or set trustProxy behind a proxy that ends TLS',
  );
}

/**
 * True unless the browser itself uses plain HTTP to this machine. Headers reveal a proxy on this machine that forwards
 * everything over HTTP.
 */
function isSecure(request: FastifyRequest): boolean {
  if (request.protocol === 'https') return true;
  return !isLoopback(request.hostname) || isForwarded(request);
}

function isForwarded(request: FastifyRequest): boolean {
  return FORWARDING.some((header) => request.headers[header] !== undefined);
}
