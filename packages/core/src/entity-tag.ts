import { createHash } from 'node:crypto';

/** 128 bits of SHA-256, which no two contents share by chance, in base64url. */
const TAG_LENGTH = 22;

/** The representations that the tags of one header may name; further ones match nothing. */
const MAX_REPRESENTATIONS = 5;

/** One of a list. Those behind something that is no entity tag are not read. */
const ENTITY_TAG = /[ \t,]*(W\/)?"([\u{21}\u{23}-\u{7e}\u{80}-\u{ff}]*)"[ \t]*(?:,|$)/guy;

/**
 * Makes the strong entity tag of an answer (RFC 9110, section 8.8.3): the same for the same text alone, in every
 * process. A representation other than the usual one of its record stands in the tag by its name, so that an `If-Match`
 * says what it has to be compared with.
 *
 * @param text the answer as it is sent
 * @example
 * entityTag('{"id":7,"name":"Tea"}');             // '"3q2-7wEBxk2b0VQmXuZ0Ag"'
 * entityTag('{"id":7}', 'fields=id');             // '"Hh3zUqYV8dGmIo8G0T0bXw.fields=id"'
 */
export function entityTag(text: string, representation = ''): string {
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, TAG_LENGTH);
  return `"${digest}${representation === '' ? '' : `.${representation}`}"`;
}

/** Tells if an `If-Match` or `If-None-Match` names the tag of whatever exists. */
export function namesAny(header: string): boolean {
  return header.trim() === '*';
}

/** Ways to compare entity tags (RFC 9110, section 8.8.3.2): by the strong one a weak tag names nothing. */
export type TagComparison = 'strong' | 'weak';

/** Lists the representations that the tags of an `If-Match` or `If-None-Match` name, each once; the usual one is empty. */
export function representationsIn(header: string, comparison: TagComparison): readonly string[] {
  const named = tagsIn(header, comparison).map((opaque) => opaque.slice(TAG_LENGTH + 1));
  return [...new Set(named)].slice(0, MAX_REPRESENTATIONS);
}

/**
 * Tells if an `If-Match` or `If-None-Match` names a tag: `*` names any that exists. `If-Match` compares strongly,
 * `If-None-Match` weakly.
 */
export function namesTag(header: string, tag: string, comparison: TagComparison): boolean {
  return namesAny(header) || tagsIn(header, comparison).some((opaque) => `"${opaque}"` === tag);
}

/** Lists the tags of a header, without their quotes. */
function tagsIn(header: string, comparison: TagComparison): string[] {
  const named = [...header.matchAll(ENTITY_TAG)].filter(([, weak]) => comparison === 'weak' || weak === undefined);
  return named.map(([, , opaque]) => opaque!);
}
