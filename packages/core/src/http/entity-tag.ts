import { createHash, createHmac, hkdfSync } from 'node:crypto';

/** 128 bits of SHA-256 in base64url, so that two contents never share a tag by chance. */
const TAG_LENGTH = 22;
const KEY_BYTES = 32;

/** The most tags of a header that are read. Clients send one; a longer list is guessing. */
const MAX_TAGS = 20;

/** One tag of a list. Reading stops at the first text that is not an entity tag. */
const ENTITY_TAG = /[ \t,]*(W\/)?"([\u{21}\u{23}-\u{7e}\u{80}-\u{ff}]*)"[ \t]*(?:,|$)/guy;

/** Makes the entity tag of a text. */
export type TagOf = (text: string) => string;

/**
 * Makes the strong entity tag of a public text (RFC 9110, section 8.8.3). Only equal texts have equal tags, in every
 * process.
 *
 * @example
 * entityTag('body { color: black }');             // '"3q2-7wEBxk2b0VQmXuZ0Ag"'
 */
export const entityTag: TagOf = (text) => quoted(createHash('sha256').update(text).digest('base64url'));

/**
 * Returns the function that makes the tags of records. Without the secret, nobody can compute the tag of a guessed
 * record. If there is no secret, the tags are plain hashes.
 *
 * @param secret the same in every process; a separate key is derived from it
 */
export function tagsBy(secret: string | undefined): TagOf {
  if (secret === undefined) return entityTag;
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'viewset entity tag, HMAC-SHA-256', KEY_BYTES));
  return (text) => quoted(createHmac('sha256', key).update(text).digest('base64url'));
}

function quoted(digest: string): string {
  return `"${digest.slice(0, TAG_LENGTH)}"`;
}

/** Reports whether an `If-Match` or `If-None-Match` is `*`, which matches any existing resource. */
export function namesAny(header: string): boolean {
  return header.trim() === '*';
}

/** How to compare entity tags (RFC 9110, section 8.8.3.2). In a strong comparison a weak tag never matches. */
export type TagComparison = 'strong' | 'weak';

/**
 * Reports whether an `If-Match` or `If-None-Match` matches a tag; `*` matches any that exists. `If-Match` compares
 * strongly, `If-None-Match` weakly.
 *
 * @param tag undefined for a response without a tag, which only `*` matches
 */
export function namesTag(header: string, tag: string | undefined, comparison: TagComparison): boolean {
  return namesAny(header) || tagsIn(header, comparison).some((opaque) => `"${opaque}"` === tag);
}

/** Lists the first tags of a header, without their quotes. */
function tagsIn(header: string, comparison: TagComparison): string[] {
  const first = [...header.matchAll(ENTITY_TAG)].slice(0, MAX_TAGS);
  const named = first.filter(([, weak]) => comparison === 'weak' || weak === undefined);
  return named.map(([, , opaque]) => opaque!);
}
