import { Type, type TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors/errors.ts';
import type { Counting } from '../query/language/query.ts';
import { wrongOption } from '../errors/options.ts';

/** The body of every list with numbered pages. */
export interface PageEnvelope<Item, Count extends number | null = number> {
  /** The number of records on all pages; null if they were not counted. */
  readonly count: Count;
  /** True if a next page exists. */
  readonly next: boolean;
  /** True if a previous page exists. */
  readonly previous: boolean;
  readonly results: Item[];
}

const COUNT_SCHEMAS: Readonly<Record<Counting, TSchema>> = {
  exact: Type.Integer({ minimum: 0, description: 'The number of records on all pages' }),
  estimated: Type.Integer({
    minimum: 0,
    description:
      'The number of records on all pages: an estimate where counting is expensive; ' +
      'never fewer than the pages up to this one show, and exact on the last page',
  }),
  none: Type.Null({ description: 'Records are not counted; follow next' }),
};

/** Makes the schema of `{ count, next, previous, results }`. */
export function pageEnvelope(item: TSchema, counting: Counting = 'exact'): TSchema {
  return Type.Object({
    count: COUNT_SCHEMAS[counting],
    next: Type.Boolean({ description: 'True if a next page exists' }),
    previous: Type.Boolean({ description: 'True if a previous page exists' }),
    results: Type.Array(item, { description: 'The records of this page' }),
  });
}

/** The arguments of a page made by hand. */
export interface PaginatedResultOptions<
  Item,
  Extra extends object | undefined = undefined,
  Count extends number | null = number,
> {
  readonly results: Item[];
  /** The number of all records. null if they were not counted; then give `next`. */
  readonly count: Count;
  /** True if a next page exists. Default: derived from the count. */
  readonly next?: boolean | undefined;
  /** The number of the page, from 1. Default: 1. */
  readonly page?: number;
  readonly pageSize: number;
  /** Further fields of the envelope. */
  readonly extra?: Extra | undefined;
}

class Result<Item, Count extends number | null> implements PageEnvelope<Item, Count> {
  readonly count: Count;
  readonly next: boolean;
  readonly previous: boolean;
  readonly results: Item[];
  readonly #page: number;
  readonly #pageSize: number;

  constructor(options: PaginatedResultOptions<Item, object | undefined, Count>) {
    const { results, count, page = 1, pageSize, extra = {} } = options;
    if (count !== null) checkInteger('count', count, 0);
    checkInteger('page', page, 1);
    checkInteger('pageSize', pageSize, 1);
    const next = options.next ?? (count === null ? undefined : page * pageSize < count);
    if (typeof next !== 'boolean') {
      throw wrongOption('PaginatedResult', 'next', 'a boolean where there is no count', next);
    }
    this.count = count;
    this.next = next;
    this.previous = page > 1;
    this.results = results;
    this.#page = page;
    this.#pageSize = pageSize;
    const taken = Object.keys(extra).find((name) => name in this);
    if (taken !== undefined) {
      throw new ImproperlyConfigured(
        `PaginatedResult: "extra" must not have the field "${taken}"; the envelope has it`,
      );
    }
    Object.assign(this, extra);
  }

  /** The number of this page, from 1. Not in the JSON. */
  get page(): number {
    return this.#page;
  }

  /** The number of records of a full page. Not in the JSON. */
  get page_size(): number {
    return this.#pageSize;
  }
}

/** A page and its position among the pages. See the constructor of the same name. */
export type PaginatedResult<Item, Extra extends object = object, Count extends number | null = number> = Result<
  Item,
  Count
> &
  Readonly<Extra>;

/**
 * Makes a page by hand, without a paginator: in a custom action, from a search engine, from a cache.
 *
 * Its JSON is `{ count, next, previous, results }` and the fields of `extra`. `page` and `page_size` are attributes for
 * your code and are never sent.
 *
 * @throws ImproperlyConfigured if a number is not whole or too small, or `extra` has a reserved name
 * @example
 * const result = new PaginatedResult({ results, count: 23, page: 2, pageSize: 10, extra: { keyword } });
 * result.page_size;         // 10
 * JSON.stringify(result);   // {"count":23,"next":true,"previous":true,"results":[…],"keyword":"…"}
 */
export const PaginatedResult: {
  new <Item, Count extends number | null = number>(
    options: PaginatedResultOptions<Item, undefined, Count>,
  ): PaginatedResult<Item, object, Count>;
  new <Item, Extra extends object, Count extends number | null = number>(
    options: PaginatedResultOptions<Item, Extra, Count> & { readonly extra: Extra },
  ): PaginatedResult<Item, Extra, Count>;
} = Result;

function checkInteger(name: string, value: number, minimum: number): void {
  if (Number.isSafeInteger(value) && value >= minimum) return;
  throw wrongOption('PaginatedResult', name, `an integer from ${minimum}`, value);
}
