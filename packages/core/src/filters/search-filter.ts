import { Type } from 'typebox';
import { invalidParameter, type ParameterDeclaration, type QueryParameters } from '../parameters.ts';
import { compare } from '../language/compare.ts';
import { and, or, type Condition } from '../language/condition.ts';
import type { Lookup } from '../language/lookup.ts';
import type { QuerySet } from '../query/queryset.ts';
import { resolveLookup, type ResolvedLookup } from '../language/resolve-lookup.ts';
import { Filter, type FilterTarget } from './filter.ts';
import { resolveOption } from './resolve-option.ts';
import { searchWords } from './search-words.ts';

/**
 * `?search=`: every word must be found in at least one of the view's `searchFields`, whatever its case. Quotes keep a
 * phrase together; `%`, `_` and `\` are ordinary characters.
 *
 * A search field is a path with `__` and an optional prefix: `name` contains the word, `^name` starts with it, `=name`
 * equals it. A view without search fields has no `search` parameter. Override `parameter` to rename it, `maximumWords`
 * (default 20) to allow more.
 *
 * @throws ImproperlyConfigured at registration, for a search field that does not exist or holds no text
 * @example
 * // searchFields: ['name', '^role__name']
 * // GET /accounts?search=ann "old town"
 * // … WHERE (name ∋ 'ann' OR role.name starts with 'ann') AND (name ∋ 'old town' OR role.name starts with 'old town')
 */
export class SearchFilter extends Filter {
  /** The name of the query parameter. */
  readonly parameter: string = 'search';
  /** More words than this are a 400. */
  readonly maximumWords: number = 20;
  readonly #fields: readonly ResolvedLookup[];

  constructor(target: FilterTarget) {
    super(target);
    this.#fields = target.searchFields.map((field) => resolveSearchField(target, field));
  }

  get parameters(): readonly ParameterDeclaration[] {
    if (this.#fields.length === 0) return [];
    const fields = this.#fields.map(({ path }) => path.key).join(', ');
    const description = `Words, or "phrases" in quotes, that must each be found in one of: ${fields}`;
    return [{ name: this.parameter, schema: Type.String({ description }) }];
  }

  apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters): QuerySet<E> {
    const text = this.#fields.length === 0 ? undefined : parameters.one(this.parameter);
    if (text === undefined) return queryset;
    const words = searchWords(text, this.maximumWords);
    if (words.length > this.maximumWords) {
      throw invalidParameter(this.parameter, `must not have more than ${this.maximumWords} words`);
    }
    return words.length === 0 ? queryset : queryset.where(and(...words.map((word) => this.#foundSomewhere(word))));
  }

  #foundSomewhere(word: string): Condition {
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
