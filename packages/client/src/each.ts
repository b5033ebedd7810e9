import type { ApiError } from './api-error.ts';
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

interface List {
  safe(
    query: object,
    options: CallOptions,
  ): Promise<
    | { readonly ok: true; readonly data: unknown; readonly headers: Headers }
    | { readonly ok: false; readonly error: ApiError }
  >;
}
type Each = (
  query?: { readonly pageSize?: number },
  options?: CallOptions & { readonly paging?: PagingNames },
) => AsyncGenerator<unknown, void, undefined>;

/**
 * Makes the function that walks through all records of a list. The page decides how to request the next one: by its
 * cursor, else by page number, or by offset if `paging` names one. An array is a list without pages, unless `paging` says
 * otherwise.
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
      const answer = await list.safe({ ...narrowing, [sizeName]: pageSize, ...place }, options);
      if (!answer.ok) throw answer.error;
      const page = answer.data as Page;
      if (Array.isArray(page) && results !== null) {
        if (hasTotal(answer.headers)) {
          throw new TypeError('each: the list is an array with pages; pass their names in paging, with results: null');
        }
        // A list without pages.
        return yield* page as unknown[];
      }
      const records = (results === null ? page : page[results]) as unknown[];
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

/** True if the response is one page of several, whose records are an array. */
function hasTotal(headers: Headers): boolean {
  return headers.has('x-total-count') || headers.has('content-range');
}
