import { isPromise } from '../awaitable.ts';
import { InvalidUsageCollector } from '../invalid-usage-collector.ts';
import type { ParameterDeclaration, QueryParameters } from '../parameters.ts';
import type { Projection } from '../language/projection.ts';
import { QuerySet } from '../query/queryset.ts';
import { CountedPagination } from './counted-pagination.ts';
import { integerDeclaration, integerParameter } from './integer-parameter.ts';
import { PaginatedResult } from './paginated-result.ts';

/**
 * Pages by number, from 1: `?page=2&page_size=20`. The default paginator.
 *
 * The answer is `{ count, next, previous, results }`, the count exact unless `count` says otherwise. A page past the end
 * is empty, with `next` false and `previous` true. A size above the maximum is the maximum. Anything but a canonical
 * positive integer up to 2147483647 is a 400.
 *
 * @example
 * // GET /products?page=3&page_size=20
 * // {"count":50,"next":false,"previous":true,"results":[ 10 records ]}
 */
export class PageNumberPagination extends CountedPagination {
  /** The name of the query parameter that holds the number of the page. */
  readonly pageParameter: string = 'page';
  /** The name of the query parameter that holds the size of the page. */
  readonly pageSizeParameter: string = 'page_size';

  get parameters(): readonly ParameterDeclaration[] {
    return [
      integerDeclaration(this.pageParameter, { minimum: 1, default: 1 }, 'Number of the page, from 1'),
      this.declareSize(this.pageSizeParameter),
    ];
  }

  async paginate<E extends object, R>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    parameters: QueryParameters,
  ): Promise<PaginatedResult<R, object, number | null>> {
    const { page, pageSize } = this.#read(parameters);
    const slice = queryset.slice((page - 1) * pageSize, pageSize);
    const found = QuerySet.pageOf(slice, projection, this.counting);
    const { rows, count, next } = isPromise(found) ? await found : found;
    return new PaginatedResult({ results: rows, count, next, page, pageSize });
  }

  override check(parameters: QueryParameters): void {
    this.#read(parameters);
  }

  #read(parameters: QueryParameters): { page: number; pageSize: number } {
    const problems = new InvalidUsageCollector();
    const page = problems.attempt(() => integerParameter(parameters, this.pageParameter, 1)) ?? 1;
    const pageSize = problems.attempt(() => this.readSize(parameters, this.pageSizeParameter)) ?? this.sizes.pageSize;
    problems.throwIfAny();
    return { page, pageSize };
  }
}
