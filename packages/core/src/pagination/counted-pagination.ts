import type { TSchema } from 'typebox';
import { wrongOption } from '../options.ts';
import { COUNTINGS, type Counting } from '../language/query.ts';
import { pageEnvelope } from './paginated-result.ts';
import { Paginator, type PaginatorOptions } from './paginator.ts';

/** The base of paginators whose envelope is `{ count, next, previous, results }`: knows the ways to count. */
export abstract class CountedPagination extends Paginator {
  /**
   * The way to find `count`, unless the view says otherwise. `next` is exact with all of them.
   *
   * - `exact` (default): by counting, on every request.
   * - `estimated`: by PostgreSQL's planner, if it expects counting to be expensive; never less than the page proves, and
   *   exact on the last page. On SQLite, which has no estimate, exact.
   * - `none`: not at all: `count` is null, and a page is one statement whose cost does not grow with the table.
   */
  readonly count: Counting = 'exact';
  #counting: Counting | undefined;

  constructor(options: PaginatorOptions = {}) {
    super(options);
    if (options.count !== undefined) checkCounting(this.owner, options.count);
  }

  envelope(item: TSchema): TSchema {
    return pageEnvelope(item, this.counting);
  }

  /**
   * The way of counting in force: the view's if it names one, else the class's.
   *
   * @throws ImproperlyConfigured on first use, which is at registration, when a subclass names another
   */
  protected get counting(): Counting {
    return (this.#counting ??= checkCounting(this.owner, this.options.count ?? this.count));
  }
}

function checkCounting(owner: string, counting: Counting): Counting {
  if (COUNTINGS.includes(counting)) return counting;
  throw wrongOption(owner, 'count', `one of ${COUNTINGS.join(', ')}`, counting);
}
