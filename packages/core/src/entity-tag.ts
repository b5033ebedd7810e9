import { createHash, createHmac, hkdfSync } from 'node:crypto';

/** 128 bits of SHA-256, which no two contents share by chance, in base64url. */
const TAG_LENGTH = 22;
const KEY_BYTES = 32;

/** The tags of one header that are read. Clients send one; a list that is longer guesses. */
const MAX_TAGS = 20;

/** One of a list. Those behind something that is no entity tag are not read. */
const ENTITY_TAG = /[ \t,]*(W\/)?"([\u{21}\u{23}-\u{7e}\u{80}-\u{ff}]*)"[ \t]*(?:,|$)/guy;

/** Makes the entity tag of a text. */
export type TagOf = (text: string) => string;

/**
 * Makes the strong entity tag of a text that everybody may read (RFC 9110, section 8.8.3): the same for the same text alone, in every
 * process.
 *
 * @example
 * entityTag('body { color: black }');             // '"3q2-7wEBxk2b0VQmXuZ0Ag"'
 */
export const entityTag: TagOf = (text) => quoted(createHash('sha256').update(text).digest('base64url'));

/**
 * Returns the function that makes the tags of records. Whoever does not know the secret cannot compute the tag of a record that they only
 * guess. Without a secret the tags are plain hashes.
 *
 * @param secret the same in every process; a key of its own is derived from it
 */
export function tagsBy(secret: string | undefined): TagOf {
  if (secret === undefined) return entityTag;
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'viewset entity tag, HMAC-SHA-256', KEY_BYTES));
  return (text) => quoted(createHmac('sha256', key).update(text).digest('base64url'));
}

function quoted(digest: string): string {
  return `"${digest.slice(0, TAG_LENGTH)}"`;
}

/** Tells if an `If-Match` or `If-None-Match` names the tag of whatever exists. */
export function namesAny(header: string): boolean {
  return header.trim() === '*';
}

/** Ways to compare entity tags (RFC 9110, section 8.8.3.2): by the strong one a weak tag names nothing. */
export type TagComparison = 'strong' | 'weak';

/**
 * Tells if an `If-Match` or `If-None-Match` names a tag: `*` names any that exists. `If-Match` compares strongly,
 * `If-None-Match` weakly.
 *
 * @param tag undefined: that of an answer without one, which `*` alone names
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
