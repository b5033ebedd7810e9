import type { CallOptions } from './options.ts';

type Page = Readonly<Record<string, unknown>>;

/** The names of a paginator's parameters, and of the members of its pages. */
interface PagingNames {
  readonly pageSize?: string;
  readonly page?: string;
  readonly cursor?: string;
  readonly offset?: string;
  /** null: a page is an array of its records. */
  readonly results?: string | null;
  readonly next?: string;
  readonly next_cursor?: string;
}

type List = (query: object, options: CallOptions) => Promise<unknown>;
type Each = (
  query?: { readonly pageSize?: number },
  options?: CallOptions & { readonly paging?: PagingNames },
) => AsyncGenerator<unknown, void, undefined>;

/**
 * Makes the function that walks through all records of a list. The page decides how to request the next one: by its
 * cursor, else by page number, or by offset if `paging` names one. An array is a list without pages, unless `results` of
 * `paging` is null.
 */
export function each(list: List): Each {
  return async function* walk({ pageSize, ...narrowing } = {}, { paging = {}, ...options } = {}) {
    const {
      pageSize: sizeName = 'page_size',
      page: pageName = 'page',
      cursor = 'cursor',
      next_cursor = 'next_cursor',
      results = 'results',
      next = 'next',
      offset,
    } = paging;
    let seen = 0;
    let place: object = {};
    for (let number = 2; ; number++) {
      const page = (await list({ ...narrowing, [sizeName]: pageSize, ...place }, options)) as Page;
      // A list without pages.
      if (Array.isArray(page) && results) return yield* page as unknown[];
      const records = (page[results!] ?? page) as unknown[];
      yield* records;
      seen += records.length;
      const after = page[next_cursor];
      // If pages do not say whether more follow, an empty page ends the list.
      if (!(page[next] ?? after !== null) || !records.length) return;
      if (after !== undefined) place = { [cursor]: after };
      else place = offset ? { [offset]: seen } : { [pageName]: number };
    }
  };
}
