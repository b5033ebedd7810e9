import { isPromise } from '../awaitable.ts';
import { InvalidUsageCollector } from '../invalid-usage-collector.ts';
import type { ParameterDeclaration, QueryParameters } from '../parameters.ts';
import type { Projection } from '../language/projection.ts';
import { QuerySet } from '../query/queryset.ts';
import { CountedPagination } from './counted-pagination.ts';
import { integerDeclaration, integerParameter } from './integer-parameter.ts';
import type { PageEnvelope } from './paginated-result.ts';

/**
 * Pages by place: `?limit=20&offset=40` skips 40 records and takes 20.
 *
 * The answer is `{ count, next, previous, results }`, the count exact unless `count` says otherwise; `next` is true when
 * records follow, `previous` when some were skipped. A limit above `maxPageSize` is `maxPageSize`; without one it is
 * `pageSize`. Anything but canonical integers up to 2147483647, `limit` from 1 and `offset` from 0, is a 400.
 *
 * @example
 * // GET /products?limit=20&offset=40
 * // {"count":50,"next":false,"previous":true,"results":[ 10 records ]}
 */
export class LimitOffsetPagination extends CountedPagination {
  /** The name of the query parameter that holds how many records to take. */
  readonly limitParameter: string = 'limit';
  /** The name of the query parameter that holds how many records to skip. */
  readonly offsetParameter: string = 'offset';

  get parameters(): readonly ParameterDeclaration[] {
    return [
      this.declareSize(this.limitParameter),
      integerDeclaration(this.offsetParameter, { minimum: 0, default: 0 }, 'Records to skip'),
    ];
  }

  async paginate<E extends object, R>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    parameters: QueryParameters,
  ): Promise<PageEnvelope<R, number | null>> {
    const { limit, offset } = this.#read(parameters);
    const found = QuerySet.pageOf(queryset.slice(offset, limit), projection, this.counting);
    const { rows, count, next } = isPromise(found) ? await found : found;
    return { count, next, previous: offset > 0, results: rows };
  }

  override check(parameters: QueryParameters): void {
    this.#read(parameters);
  }

  #read(parameters: QueryParameters): { limit: number; offset: number } {
    const problems = new InvalidUsageCollector();
    const limit = problems.attempt(() => this.readSize(parameters, this.limitParameter)) ?? this.sizes.pageSize;
    const offset = problems.attempt(() => integerParameter(parameters, this.offsetParameter, 0)) ?? 0;
    problems.throwIfAny();
    return { limit, offset };
  }
}
