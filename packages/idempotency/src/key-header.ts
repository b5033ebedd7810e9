import type { FastifyRequest } from 'fastify';
import { InvalidUsage } from '@viewset/core';

/** A String of RFC 9651, section 3.3.3. */
const STRING = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;
const MAX_LENGTH = 255;

/**
 * Reads a request's `Idempotency-Key` header; undefined if there is none.
 *
 * @throws InvalidUsage that quotes the wrong value
 */
export function readKey({ headers }: FastifyRequest): string | undefined {
  const text = headers['idempotency-key'];
  if (text === undefined) return undefined;
  const sent = String(text);
  const key = STRING.exec(sent.trim())?.[1]?.replaceAll(/\\(.)/g, '$1') ?? '';
  if (key !== '' && key.length <= MAX_LENGTH) return key;
  const came = sent.length > MAX_LENGTH ? `${sent.length} characters` : JSON.stringify(sent);
  throw new InvalidUsage(
    `Idempotency-Key must be one text of 1 to ${MAX_LENGTH} ASCII characters in double quotes, but ${came} came`,
  );
}
