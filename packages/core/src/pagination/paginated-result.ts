import { ImproperlyConfigured } from '../errors.ts';
import { wrongOption } from '../options.ts';

/** What every page-numbered list answers on the wire. */
export interface PageEnvelope<Item, Count extends number | null = number> {
  /** Records in all, on every page together; null where they were not counted. */
  readonly count: Count;
  /** Whether a next page exists. */
  readonly next: boolean;
  /** Whether a previous page exists. */
  readonly previous: boolean;
  readonly results: Item[];
}

/** What a page made by hand consists of. */
export interface PaginatedResultOptions<
  Item,
  Extra extends object | undefined = undefined,
  Count extends number | null = number,
> {
  readonly results: Item[];
  /** Records in all; null where they were not counted, and `next` has to be said. */
  readonly count: Count;
  /** Whether a next page exists. Default: whether the count says so. */
  readonly next?: boolean | undefined;
  /** From 1. Default: 1. */
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
    const { results, count, page = 1, pageSize, extra } = options;
    if (count !== null && !isWhole(count, 0)) throw wrongOption('PaginatedResult', 'count', 'an integer from 0', count);
    if (!isWhole(page, 1)) throw wrongOption('PaginatedResult', 'page', 'an integer from 1', page);
    if (!isWhole(pageSize, 1)) throw wrongOption('PaginatedResult', 'pageSize', 'an integer from 1', pageSize);
    this.count = count;
    const next = options.next ?? (count === null ? undefined : page * pageSize < count);
    if (typeof next !== 'boolean') {
      throw wrongOption('PaginatedResult', 'next', 'a boolean where there is no count', next);
    }
    this.next = next;
    this.previous = page > 1;
    this.results = results;
    this.#page = page;
    this.#pageSize = pageSize;
    if (extra !== undefined) addExtra(this, extra);
  }

  /** The number of this page, from 1. Not in the JSON. */
  get page(): number {
    return this.#page;
  }

  /** How many records a full page has. Not in the JSON. */
  get page_size(): number {
    return this.#pageSize;
  }
}

/** A page and its place among the pages; see the constructor of the same name. */
export type PaginatedResult<Item, Extra extends object = object, Count extends number | null = number> = Result<
  Item,
  Count
> &
  Readonly<Extra>;

/**
 * The page envelope, built by hand where a paginator does not: in a custom action, from a search engine, from a cache.
 *
 * Its JSON is `{ count, next, previous, results }` and the fields of `extra`; `page` and `page_size` are attributes for
 * the code around it and never on the wire.
 *
 * @throws ImproperlyConfigured when a number is not whole or too small, or `extra` has a name that is taken
 * @example
 * const result = new PaginatedResult({ results, count: 23, page: 2, pageSize: 10, extra: { keyword } });
 * result.page_size;   // 10
 * return result;      // {"count":23,"next":true,"previous":true,"results":[…],"keyword":"…"}
 */
export const PaginatedResult: {
  new <Item, Count extends number | null = number>(
    options: PaginatedResultOptions<Item, undefined, Count>,
  ): PaginatedResult<Item, object, Count>;
  new <Item, Extra extends object, Count extends number | null = number>(
    options: PaginatedResultOptions<Item, Extra, Count> & { readonly extra: Extra },
  ): PaginatedResult<Item, Extra, Count>;
} = Result;

function addExtra(result: object, extra: object): void {
  const taken = Object.keys(extra).find((name) => name in result);
  if (taken !== undefined) {
    throw new ImproperlyConfigured(`PaginatedResult: "extra" must not have the field "${taken}"; the envelope has it`);
  }
  Object.assign(result, extra);
}

function isWhole(value: unknown, minimum: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= minimum;
}
