import type { FastifyRequest } from 'fastify';
import { InvalidUsage } from '@viewset/core';

/** A String of RFC 9651, section 3.3.3. */
const STRING = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;
/** A key without quotes, as clients of Stripe send it. A comma would separate two keys, and a semicolon a parameter. */
const BARE = /^[!#-+\--:<-[\]-~]+$/;
const MAX_LENGTH = 255;

/**
 * Reads a request's `Idempotency-Key` header; undefined if there is none. The draft of the IETF wants double quotes. Many
 * clients send none, as for Stripe, so the same text without them is the same key.
 *
 * @throws InvalidUsage that quotes the wrong value
 */
export function readKey({ headers }: FastifyRequest): string | undefined {
  const text = headers['idempotency-key'];
  if (text === undefined) return undefined;
  const sent = String(text);
  const value = sent.trim();
  const key = BARE.test(value) ? value : (STRING.exec(value)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? '');
  if (key !== '' && key.length <= MAX_LENGTH) return key;
  const received = sent.length > MAX_LENGTH ? `${sent.length} characters` : JSON.stringify(sent);
  throw new InvalidUsage(
    `Idempotency-Key must be one text of 1 to ${MAX_LENGTH} ASCII characters, such as "8e03978e", got ${received}`,
  );
}
