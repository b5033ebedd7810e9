import type { FastifyRequest } from 'fastify';
import { namesTag } from './entity-tag.ts';
import { parseHttpDate } from './http-date.ts';
import { SAFE_METHODS } from './methods.ts';

/** The validators of a response (RFC 9110, section 8.8). */
export interface Validators {
  /** The strong entity tag. Undefined if the response has none; then only `*` matches. */
  readonly tag: string | undefined;
  /** The `Last-Modified` of the response, in milliseconds, without parts of seconds. */
  readonly modifiedAt?: number | undefined;
}

/**
 * Compares the conditions of a read request with the response, in the order of RFC 9110, section 13.2.2. `failed`: the
 * response is 412. `known`: the client has the response, so it is 304. A date counts only without the header of tags
 * that is meant for the same, and only if the response has a `Last-Modified`.
 */
export function readCondition(
  { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>,
  { tag, modifiedAt }: Validators,
): 'failed' | 'known' | undefined {
  if (!SAFE_METHODS.has(method)) return undefined;
  const { 'if-match': wanted, 'if-none-match': known } = headers;
  const isWanted =
    wanted === undefined ? !isAfter(modifiedAt, headers['if-unmodified-since']) : namesTag(wanted, tag, 'strong');
  if (!isWanted) return 'failed';
  const isKnown =
    known === undefined ? isUntil(modifiedAt, headers['if-modified-since']) : namesTag(known, tag, 'weak');
  return isKnown ? 'known' : undefined;
}

/**
 * Reports whether a `Range` applies: without `If-Range`, or if that names this very response by its tag or by its exact
 * `Last-Modified` (RFC 9110, section 13.1.5).
 */
export function rangeApplies({ headers }: Pick<FastifyRequest, 'headers'>, { tag, modifiedAt }: Validators): boolean {
  const condition = headers['if-range'];
  if (typeof condition !== 'string' || condition === tag) return true;
  return modifiedAt !== undefined && parseHttpDate(condition) === modifiedAt;
}

function isAfter(modifiedAt: number | undefined, header: string | undefined): boolean {
  const date = header === undefined ? undefined : parseHttpDate(header);
  return modifiedAt !== undefined && date !== undefined && modifiedAt > date;
}

function isUntil(modifiedAt: number | undefined, header: string | undefined): boolean {
  const date = header === undefined ? undefined : parseHttpDate(header);
  return modifiedAt !== undefined && date !== undefined && modifiedAt <= date;
}
