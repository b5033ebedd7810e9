import { type ErrorDetail, exactJson } from '@viewset/core';
import type { BatchAnswer } from './operation.ts';

/** A fault of a batch: where, and what is wrong. */
export interface Fault {
  /** A JSON pointer. */
  readonly path: string;
  readonly message: string;
}

/** The answers so far, by the ids of their operations. */
export type KnownAnswers = ReadonlyMap<string, BatchAnswer>;

/** The error for a reference that leads nowhere, or whose value does not fit its place. */
export class BadReference extends Error {
  readonly place: Place;

  constructor(place: Place, message: string) {
    super(message);
    this.place = place;
  }
}

/** The part of a request that contains a reference. */
type Place = ErrorDetail['in'];

const MAX_REFERENCE_LENGTH = 300;
const REFERENCE = /^([A-Za-z0-9_-]{1,64})((?:\.[^.{}]+)+)$/;
/** Data keys that look like `$ref`. Clients add one `$` to escape them. */
const ESCAPED = /^\$\$+ref$/;
const IN_PATH = /\{([^{}]*)\}/g;
/** The characters that RFC 3986 allows in a path and a query. */
const URL_TEXT = /^(?:[\w\-.~!$&'()*+,;=:@/?]|%[\dA-Fa-f]{2})*$/;
const PROTOTYPE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

type Visit = (reference: string, path: string) => void;

/** Calls a function for each reference in a body. Returns the faults of malformed references. */
export function eachReference(body: unknown, visit: Visit, path = ''): Fault[] {
  if (typeof body !== 'object' || body === null) return [];
  if (Object.hasOwn(body, '$ref')) {
    const { $ref } = body as { readonly $ref: unknown };
    if (typeof $ref !== 'string' || Object.keys(body).length > 1) {
      return [
        { path, message: 'has the key "$ref", which a reference has alone, with a text; write "$$ref" for data' },
      ];
    }
    visit($ref, path);
    return [];
  }
  return Object.entries(body).flatMap(([key, value]) =>
    eachReference(value, visit, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  );
}

/** Lists the references in a path and its query. */
export function referencesInPath(path: string): string[] {
  return [...path.matchAll(IN_PATH)].map(([, reference]) => reference!);
}

/** Returns the operation id in a reference; undefined if it is not a reference. */
export function idIn(reference: string): string | undefined {
  if (reference.length > MAX_REFERENCE_LENGTH) return undefined;
  const [, id, rest = ''] = REFERENCE.exec(reference) ?? [];
  return rest.split('.').some((key) => PROTOTYPE_KEYS.has(key)) ? undefined : id;
}

/** Says what is wrong with a path and its query; undefined if nothing is. */
export function pathProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must begin with "/"';
  const [segments = ''] = path.split('?');
  const isSegment = segments.split('/').every((segment) => !segment.includes('{') || /^\{[^{}]*\}$/.test(segment));
  if (!isSegment) return 'may have a reference as a whole segment, as in "/books/{a.id}", or in its query';
  if (!URL_TEXT.test(path.replaceAll(IN_PATH, '0'))) return 'has characters that a URL must not have; encode them';
  return segments.split('/').some(isDots) ? 'must not have segments of dots' : undefined;
}

function isDots(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment);
}

/**
 * Replaces references with values from earlier answers.
 *
 * @throws BadReference if a reference leads nowhere, or the values in one path or body exceed `maxBytes`
 */
export class References {
  readonly #answers: KnownAnswers;
  readonly #maxBytes: number;
  readonly #sizes = new Map<string, number>();

  constructor(answers: KnownAnswers, maxBytes: number) {
    this.#answers = answers;
    this.#maxBytes = maxBytes;
  }

  inPath(path: string): string {
    const take = this.#limited();
    const queryAt = path.includes('?') ? path.indexOf('?') : path.length;
    return path.replaceAll(IN_PATH, (_text, reference: string, at: number) => {
      const place = at < queryAt ? 'params' : 'query';
      const text = textOf(take(reference, place));
      if (text === undefined || (place === 'params' && (text === '' || isDots(text)))) {
        throw new BadReference(place, `${reference} is no value that a ${PLACE_NAMES[place]} can have`);
      }
      return encodeURIComponent(text);
    });
  }

  inBody(body: unknown): unknown {
    const take = this.#limited();
    const replaced = (value: unknown): unknown => {
      if (typeof value !== 'object' || value === null) return value;
      if (Array.isArray(value)) return exactJson.copy(value, value.map(replaced));
      if (Object.hasOwn(value, '$ref')) return take((value as { readonly $ref: string }).$ref, 'body');
      const entries = Object.entries(value).map(([key, each]) => [
        ESCAPED.test(key) ? key.slice(1) : key,
        replaced(each),
      ]);
      return exactJson.copy(value, Object.fromEntries(entries) as object);
    };
    return replaced(body);
  }

  /**
   * Returns a function that finds values until they exceed `maxBytes`. A short text may refer to a long value many
   * times.
   */
  #limited(): (reference: string, place: Place) => unknown {
    let bytes = 0;
    return (reference, place) => {
      const value = this.#find(reference, place);
      bytes += this.#sizeOf(reference, value);
      if (bytes <= this.#maxBytes) return value;
      throw new BadReference(place, `the values of references exceed ${this.#maxBytes} bytes`);
    };
  }

  #sizeOf(reference: string, value: unknown): number {
    const known = this.#sizes.get(reference) ?? Buffer.byteLength(JSON.stringify(value));
    this.#sizes.set(reference, known);
    return known;
  }

  #find(reference: string, place: Place): unknown {
    const id = idIn(reference)!;
    let value: unknown = this.#answers.get(id)?.body;
    for (const key of reference.slice(id.length + 1).split('.')) {
      const has = typeof value === 'object' && value !== null && Object.hasOwn(value, key) && isKeyOf(value, key);
      if (!has) throw new BadReference(place, `${reference} leads nowhere in the answer of "${id}"`);
      value = (value as Readonly<Record<string, unknown>>)[key];
    }
    return value;
  }
}

const PLACE_NAMES = { params: 'path', query: 'query' } as const;

/** Converts a value to text for a URL; undefined if that is not possible. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value.isWellFormed() ? value : undefined;
}

/** An array has only its items, no `length`. */
function isKeyOf(value: object, key: string): boolean {
  return !Array.isArray(value) || /^\d+$/.test(key);
}
