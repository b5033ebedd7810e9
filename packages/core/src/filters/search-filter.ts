import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Awaitable } from '../support/awaitable.ts';
import { invalidParameter, type ParameterDeclaration, type QueryParameters } from '../http/parameters.ts';
import { compare } from '../query/language/compare.ts';
import { and, or, type Condition } from '../query/language/condition.ts';
import type { Lookup } from '../query/language/lookup.ts';
import type { QuerySet } from '../query/queryset.ts';
import { resolveLookup, type ResolvedLookup } from '../query/language/resolve-lookup.ts';
import { Filter, type FilterTarget, resolveOption } from './filter.ts';
import type { SearchLimits } from './text-search.ts';

/**
 * `?search=`: every word must occur in at least one of the view's `searchFields`, ignoring case. Quotes keep a phrase
 * together. `%`, `_` and `\` are ordinary characters.
 *
 * A search field is a path with `__` and an optional prefix: `name` contains the word, `^name` starts with it, `=name`
 * equals it. A view without search fields has no `search` parameter. Override `parameter` to rename it, `maximumWords`
 * (default 20) to change the limit. Instead of fields, a view may declare a `TextSearch`, which has its own rules for
 * words.
 *
 * @throws ImproperlyConfigured at registration, for a search field that does not exist or is not a text
 * @example
 * // searchFields: ['name', '^role__name']
 * // GET /accounts?search=ann "old town"
 * // … WHERE (name ∋ 'ann' OR role.name starts with 'ann') AND (name ∋ 'old town' OR role.name starts with 'old town')
 */
export class SearchFilter extends Filter {
  static override readonly reads: readonly 'searchFields'[] = ['searchFields'];
  /** The name of the query parameter. */
  readonly parameter: string = 'search';
  /** The most words of a search. More give 400. */
  readonly maximumWords: number = 20;
  readonly #fields: readonly ResolvedLookup[];

  constructor(target: FilterTarget) {
    super(target);
    this.#fields = target.searchFields.map((field) => resolveSearchField(target, field));
  }

  get parameters(): readonly ParameterDeclaration[] {
    const { search } = this.target;
    if (search !== undefined) {
      return [{ name: this.parameter, schema: Type.String({ description: search.describe(this.#limits) }) }];
    }
    if (this.#fields.length === 0) return [];
    const fields = this.#fields.map(({ path }) => path.key).join(' or ');
    const description = `Words, or "phrases" in quotes, at most ${this.maximumWords}, each of which must be found in ${fields}`;
    const compares = this.#fields.map(({ path, lookup }) => ({ field: path.key, lookup }));
    return [{ name: this.parameter, schema: Type.String({ description }), compares }];
  }

  get #limits(): SearchLimits {
    return { parameter: this.parameter, maximumWords: this.maximumWords };
  }

  apply<E extends object>(
    queryset: QuerySet<E>,
    parameters: QueryParameters,
    request: FastifyRequest,
  ): Awaitable<QuerySet<E>> {
    const { search } = this.target;
    const isDeclared = search !== undefined || this.#fields.length > 0;
    const text = isDeclared ? parameters.one(this.parameter) : undefined;
    if (text === undefined) return queryset;
    return search === undefined
      ? this.#searchFields(queryset, text)
      : search.search(queryset, text, this.#limits, request);
  }

  #searchFields<E extends object>(queryset: QuerySet<E>, text: string): QuerySet<E> {
    const words = searchWords(text, this.maximumWords);
    if (words.length > this.maximumWords) {
      throw invalidParameter(this.parameter, `must not have more than ${this.maximumWords} words`);
    }
    return words.length === 0
      ? queryset
      : queryset.where(and(...this.#distinctWords(words).map((word) => this.#conditionFor(word))));
  }

  /**
   * Drops duplicates, and puts the longest words first, because they match the fewest records. If every field is
   * searched for words anywhere in it, also drops words that another word contains. Each word is tested on every record
   * that matches the words before it. On SQLite this blocks the process.
   */
  #distinctWords(words: readonly string[]): readonly string[] {
    if (words.length === 1) return words;
    const distinct = new Map(words.map((word) => [word.toLowerCase(), word]));
    const longestFirst = [...distinct.keys()].toSorted((one, other) => other.length - one.length);
    const isContained = this.#fields.every(({ lookup }) => lookup === 'icontains');
    const needed = longestFirst.filter(
      (word, index) => !isContained || !longestFirst.slice(0, index).some((longer) => longer.includes(word)),
    );
    return needed.map((word) => distinct.get(word) as string);
  }

  #conditionFor(word: string): Condition {
    return or(...this.#fields.map(({ path, lookup }) => compare(path, lookup, word)));
  }
}

const PREFIXES = new Map<string, Lookup>([
  ['^', 'istartswith'],
  ['=', 'iexact'],
]);

function resolveSearchField(target: FilterTarget, field: string): ResolvedLookup {
  const prefixed = PREFIXES.get(field.charAt(0));
  const path = prefixed === undefined ? field : field.slice(1);
  const name = `${path}__${prefixed ?? 'icontains'}`;
  return resolveOption(target.name, 'searchFields', field, () => resolveLookup(target.meta, name));
}

const SEPARATOR_OR_QUOTE = /[\s"']/;
const PHRASE_OR_WORD = /(["'])(.*?)\1(?!\S)|\S+/gs;

/**
 * Splits a search text into words at white space. Quotes (`"` or `'`) keep a phrase together.
 *
 * A quote opens a phrase at the start of a word and closes it at the end of one. Any other quote (`O'Brien`, `5" pipe`,
 * one that is never closed) is an ordinary character. A phrase of white space only is not a word. Reading stops after
 * `maximum + 1` words, so a caller can detect "too many", and a hostile text costs little.
 *
 * @example
 * searchWords(`red "wide brim" o'neill`, 20);   // ['red', 'wide brim', "o'neill"]
 */
export function searchWords(text: string, maximum: number): string[] {
  if (!SEPARATOR_OR_QUOTE.test(text)) return text === '' ? [] : [text];
  const words: string[] = [];
  for (const match of text.matchAll(PHRASE_OR_WORD)) {
    const word = match[2] ?? match[0];
    if (word.trim() === '') continue;
    words.push(word);
    if (words.length > maximum) break;
  }
  return words;
}
