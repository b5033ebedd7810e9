import { createHmac } from 'node:crypto';
import { JWT_SECRET } from './running-shop.ts';

export type Claims = Record<string, unknown>;

const HASHES: Record<string, string> = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' };

/** A token with the given claims, signed with the given algorithm and key. */
export function forge(
  claims: unknown,
  { header = {}, secret = JWT_SECRET }: { header?: Claims; secret?: string | Buffer } = {},
): string {
  const fullHeader = { alg: 'HS256', typ: 'JWT', ...header };
  const signed = `${encode(fullHeader)}.${encode(claims)}`;
  const hash = HASHES[fullHeader.alg] ?? 'sha256';
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`;
}

export function encode(part: unknown): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}

export function claimsOf(token: string): Claims {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims;
}

export function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
