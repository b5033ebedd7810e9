import type { CallOptions } from './options.ts';

/** The parts of a page that lead to the next one. */
interface AnyPage {
  readonly next: boolean;
  readonly next_cursor?: string | null;
  readonly results: readonly unknown[];
}

/** The names of a paginator's parameters. */
interface PagingNames {
  readonly pageSize?: string;
  readonly page?: string;
  readonly cursor?: string;
  readonly offset?: string;
}

type List = (query: object, options: CallOptions) => Promise<AnyPage | readonly unknown[]>;
type Each = (
  query?: { readonly pageSize?: number },
  options?: CallOptions & { readonly paging?: PagingNames },
) => AsyncGenerator<unknown, void, undefined>;

/**
 * Makes the walk over all records of a list. A page tells how the next one is asked for: by its cursor if it has one, else
 * by a number, or by an offset if the names say so; a list without pages is walked over as it is.
 */
export function each(list: List): Each {
  return async function* walk({ pageSize, ...narrowing } = {}, { paging = {}, ...options } = {}) {
    const { pageSize: sizeName = 'page_size', page: pageName = 'page', cursor = 'cursor', offset } = paging;
    let seen = 0;
    let place: object = {};
    for (let number = 2; ; number++) {
      const page = await list({ ...narrowing, [sizeName]: pageSize, ...place }, options);
      if (!('results' in page)) return yield* page;
      yield* page.results;
      if (!page.next || page.results.length === 0) return;
      seen += page.results.length;
      if (page.next_cursor !== undefined) place = { [cursor]: page.next_cursor };
      else place = offset === undefined ? { [pageName]: number } : { [offset]: seen };
    }
  };
}
