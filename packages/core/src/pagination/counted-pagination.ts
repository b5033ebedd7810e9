import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { InvalidUsageCollector } from '../errors/invalid-usage-collector.ts';
import { COUNTINGS, type Counting } from '../query/language/query.ts';
import type { Projection } from '../query/language/projection.ts';
import { wrongOption } from '../errors/options.ts';
import type { ParameterDeclaration, QueryParameters } from '../http/parameters.ts';
import type { QuerySet } from '../query/queryset.ts';
import { type Exchange, type PageLinks, sendLinks } from './link-header.ts';
import { pageEnvelope, type PageEnvelope, PaginatedResult } from './paginated-result.ts';
import { COUNTED_RULES, type CountedSettings, type PaginatorWith, paginatorWith } from './paginator-with.ts';
import { sendTotal, TOTAL_HEADERS, type TotalHeader, totalHeaderSchema } from './total-header.ts';
import {
  type IntegerBounds,
  integerDeclaration,
  integerParameter,
  MAX_INTEGER,
  Paginator,
  type PaginatorOptions,
} from './paginator.ts';

/** The base of paginators whose envelope is `{ count, next, previous, results }`. It can count in several ways. */
export abstract class CountedPagination extends Paginator {
  /**
   * How `count` is found, unless the view sets another way. `next` is always exact.
   *
   * - `exact` (default): counts on every request.
   * - `estimated`: PostgreSQL's planner estimates, if it expects counting to be expensive. The number is at least what
   *   the page shows, and exact on the last page. On MongoDB the stored number of a whole collection, else exact. On
   *   SQLite exact.
   * - `none`: does not count. `count` is null. A page runs one statement, and its cost does not grow with the table.
   */
  readonly count: Counting = 'exact';
  /**
   * Sends the count in a header, `X-Total-Count` or `Content-Range`. A list is then an array of its records, without a page around it:
   * clients such as the data providers of React-admin expect this. Default: null, a list is a page with a `count`.
   *
   * @example
   * // totalHeader: 'Content-Range'
   * // GET /products?limit=20&offset=40
   * // Content-Range: items 40-49/50
   * // [ 10 records ]
   */
  readonly totalHeader: TotalHeader | null = null;

  constructor(options: PaginatorOptions = {}) {
    super(options);
    if (options.count !== undefined) this.#checkCounting(options.count);
  }

  envelope(item: TSchema): TSchema {
    return pageEnvelope(item, this.counting);
  }

  override get headers(): Readonly<Record<string, TSchema>> {
    return { ...super.headers, ...(this.totalHeader === null ? {} : totalHeaderSchema(this.totalHeader)) };
  }

  protected override get isArray(): boolean {
    const { totalHeader } = this;
    if (totalHeader === null || TOTAL_HEADERS.includes(totalHeader)) return totalHeader !== null;
    throw wrongOption(this.owner, 'totalHeader', `one of ${TOTAL_HEADERS.join(', ')}, or null`, totalHeader);
  }

  /**
   * Sends the number of all records, if `totalHeader` names a header. Call it in a `paginate` of your own.
   *
   * @param page the page that `paginate` returns
   * @param first the place of its first record, from 0
   * @param exchange undefined in an action that did not pass its reply; then no header is sent
   */
  protected sendTotal(
    page: Pick<PageEnvelope<unknown, number | null>, 'count' | 'results'>,
    first: number,
    exchange: Exchange | undefined,
  ): void {
    const { count, results } = page;
    if (this.totalHeader === null || exchange === undefined || count === null) return;
    sendTotal(exchange, this.totalHeader, { count, first, length: results.length });
  }

  /**
   * The effective way of counting: the view's, or the class's if the view sets none. `none` if neither a page nor a
   * link shows the count.
   *
   * @throws ImproperlyConfigured on first use, which is at registration, if a subclass sets an unknown way
   */
  protected get counting(): Counting {
    const { isArray } = this;
    const isShown = this.links || isArray || this.pageNames.of('count') !== undefined;
    const counting = this.#checkCounting(this.options.count ?? (isShown ? this.count : 'none'));
    if (!isArray || counting !== 'none') return counting;
    throw new ImproperlyConfigured(
      `${this.owner}: option "totalHeader" needs a count, but "count" is "none"; use "exact" or "estimated"`,
    );
  }

  #checkCounting(counting: Counting): Counting {
    if (COUNTINGS.includes(counting)) return counting;
    throw wrongOption(this.owner, 'count', `one of ${COUNTINGS.join(', ')}`, counting);
  }
}

/** The fields that hold the names of parameters. */
const NUMBER_FIELDS = { page: 'pageParameter', page_size: 'pageSizeParameter' } as const;
const PAGE_NUMBER: IntegerBounds = { minimum: 1, maximum: MAX_INTEGER, default: 1 };

/**
 * Divides lists into pages with numbers from 1: `?page=2&page_size=20`. The default paginator.
 *
 * The response is `{ count, next, previous, results }`. The count is exact, unless `count` says otherwise. A page past the end is empty,
 * with `next` false and `previous` true. A size above the maximum becomes the maximum. Anything but a canonical positive integer up to
 * 2147483647 gives 400.
 *
 * @example
 * // GET /products?page=3&page_size=20
 * // {"count":50,"next":false,"previous":true,"results":[ 10 records ]}
 */
export class PageNumberPagination extends CountedPagination {
  /**
   * Returns this paginator with other names, sizes and settings, without a subclass. `names` renames parameters and members of a page.
   *
   * @throws ImproperlyConfigured for a name that the paginator does not have
   * @example
   * const pagination = PageNumberPagination.with({ names: { page: 'p', results: 'items', previous: null }, pageSize: 20 });
   * // GET /products?p=2
   * // {"count":50,"next":true,"items":[ 20 records ]}
   */
  static with<const Settings extends CountedSettings<'page' | 'page_size'>>(
    settings: Settings,
  ): PaginatorWith<PageNumberPagination, Settings, typeof NUMBER_FIELDS> {
    return paginatorWith(this, settings, NUMBER_FIELDS, COUNTED_RULES) as never;
  }

  /** The name of the query parameter that holds the number of the page. */
  readonly pageParameter: string = 'page';
  /** The name of the query parameter that holds the size of the page. */
  readonly pageSizeParameter: string = 'page_size';

  get parameters(): readonly ParameterDeclaration[] {
    return [
      {
        ...integerDeclaration(this.pageParameter, PAGE_NUMBER, 'Number of the page, from 1'),
        pages: 'number',
      },
      this.declareSize(this.pageSizeParameter),
    ];
  }

  async paginate<E extends object, R>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    parameters: QueryParameters,
    exchange?: Exchange,
  ): Promise<PaginatedResult<R, object, number | null>> {
    const [page, pageSize] = this.#read(parameters);
    const slice = queryset.slice((page - 1) * pageSize, pageSize);
    const { rows, count, next } = await slice.page(projection, { count: this.counting });
    if (this.links && exchange !== undefined) {
      const at = (number: number): PageLinks['next'] => ({ [this.pageParameter]: number });
      const last = this.counting === 'exact' && count !== null ? Math.max(1, Math.ceil(count / pageSize)) : undefined;
      sendLinks(exchange, {
        first: at(1),
        prev: page > 1 ? at(Math.min(page - 1, last ?? page)) : undefined,
        next: next ? at(page + 1) : undefined,
        last: last === undefined ? undefined : at(last),
      });
    }
    const result = new PaginatedResult({ results: rows, count, next, page, pageSize });
    this.sendTotal(result, (page - 1) * pageSize, exchange);
    return result;
  }

  override check(parameters: QueryParameters): void {
    this.#read(parameters);
  }

  #read(parameters: QueryParameters): [page: number, pageSize: number] {
    return InvalidUsageCollector.both(
      () => integerParameter(parameters, this.pageParameter, PAGE_NUMBER),
      () => this.readSize(parameters, this.pageSizeParameter),
    );
  }
}

/** The fields that hold the names of parameters. */
const OFFSET_FIELDS = { limit: 'limitParameter', offset: 'offsetParameter' } as const;
const OFFSET: IntegerBounds = { minimum: 0, maximum: MAX_INTEGER, default: 0 };

/**
 * Divides lists by position: `?limit=20&offset=40` skips 40 records and takes 20.
 *
 * The response is `{ count, next, previous, results }`. The count is exact, unless `count` says otherwise. `next` is true if records
 * follow, `previous` if some were skipped. A limit above `maxPageSize` becomes `maxPageSize`; without a limit it is `pageSize`. Both must
 * be canonical integers up to 2147483647, `limit` from 1 and `offset` from 0; else the client gets 400.
 *
 * @example
 * // GET /products?limit=20&offset=40
 * // {"count":50,"next":false,"previous":true,"results":[ 10 records ]}
 */
export class LimitOffsetPagination extends CountedPagination {
  /**
   * Returns this paginator with other names, sizes and settings, without a subclass. `names` renames parameters and members of a page.
   *
   * @throws ImproperlyConfigured for a name that the paginator does not have
   * @example
   * const pagination = LimitOffsetPagination.with({
   *   names: { limit: 'take', offset: 'skip', results: 'items', count: 'total', next: null, previous: null },
   * });
   * // GET /products?take=20&skip=40
   * // {"total":50,"items":[ 10 records ]}
   */
  static with<const Settings extends CountedSettings<'limit' | 'offset'>>(
    settings: Settings,
  ): PaginatorWith<LimitOffsetPagination, Settings, typeof OFFSET_FIELDS> {
    return paginatorWith(this, settings, OFFSET_FIELDS, COUNTED_RULES) as never;
  }

  /** The name of the query parameter that holds how many records to take. */
  readonly limitParameter: string = 'limit';
  /** The name of the query parameter that holds how many records to skip. */
  readonly offsetParameter: string = 'offset';

  get parameters(): readonly ParameterDeclaration[] {
    return [
      this.declareSize(this.limitParameter),
      {
        ...integerDeclaration(this.offsetParameter, OFFSET, 'Records to skip'),
        pages: 'offset',
      },
    ];
  }

  async paginate<E extends object, R>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    parameters: QueryParameters,
    exchange?: Exchange,
  ): Promise<PageEnvelope<R, number | null>> {
    const [limit, offset] = this.#read(parameters);
    const { rows, count, next } = await queryset.slice(offset, limit).page(projection, { count: this.counting });
    if (this.links && exchange !== undefined) {
      const at = (place: number): PageLinks['next'] => ({ [this.offsetParameter]: place });
      const last = this.counting === 'exact' && count !== null ? lastOffset(count, limit) : undefined;
      sendLinks(exchange, {
        first: at(0),
        prev: offset > 0 ? at(Math.max(0, Math.min(offset - limit, last ?? offset))) : undefined,
        next: next ? at(offset + limit) : undefined,
        last: last === undefined ? undefined : at(last),
      });
    }
    const result = { count, next, previous: offset > 0, results: rows };
    this.sendTotal(result, offset, exchange);
    return result;
  }

  override check(parameters: QueryParameters): void {
    this.#read(parameters);
  }

  #read(parameters: QueryParameters): [limit: number, offset: number] {
    return InvalidUsageCollector.both(
      () => this.readSize(parameters, this.limitParameter),
      () => integerParameter(parameters, this.offsetParameter, OFFSET),
    );
  }
}

/** The offset of the last page, if pages start at the first record. */
function lastOffset(count: number, limit: number): number {
  return Math.max(0, (Math.ceil(count / limit) - 1) * limit);
}
