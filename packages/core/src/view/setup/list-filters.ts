import type { FastifyRequest } from 'fastify';
import { type Awaitable, isPromise, thenOrCatch, whenReady } from '../../support/awaitable.ts';
import { InvalidUsage } from '../../errors/errors.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import type { Filter } from '../../filters/filter.ts';
import { InvalidUsageCollector } from '../../errors/invalid-usage-collector.ts';
import type { Paginator } from '../../pagination/paginator.ts';
import { invalidParameter } from '../../http/parameters.ts';
import { violationOf } from '../../query/known-errors.ts';
import type { QuerySet } from '../../query/queryset.ts';
import { parametersOf } from '../request/request-state.ts';

/** Applies the filters of a view to the records of a request, and explains parameters that are at fault. */
export class ListFilters {
  readonly #filters: readonly Filter[];
  readonly #paginator: Paginator | null;
  /** All records of the view. */
  readonly #records: QuerySet<object>;

  constructor(filters: readonly Filter[], paginator: Paginator | null, records: QuerySet<object>) {
    this.#filters = filters;
    this.#paginator = paginator;
    this.#records = records;
  }

  /**
   * Applies the filters in order, synchronously if every filter is synchronous. The result is always a subset of the
   * given records.
   */
  apply<Entity extends object>(request: FastifyRequest, records: QuerySet<Entity>): Awaitable<QuerySet<Entity>> {
    const byClient = (narrowed: QuerySet<Entity>): QuerySet<Entity> =>
      narrowed === records ? records : narrowTo(records, narrowed).by('client');
    return whenReady(this.#applyFrom(0, request, records), byClient);
  }

  #applyFrom<Entity extends object>(
    first: number,
    request: FastifyRequest,
    records: QuerySet<Entity>,
  ): Awaitable<QuerySet<Entity>> {
    let found = records;
    for (let index = first; index < this.#filters.length; index++) {
      const result = applyFilter(this.#filters[index]!, found, request);
      if (isPromise(result)) return result.then((narrowed) => this.#applyFrom(index + 1, request, narrowed));
      found = result;
    }
    return found;
  }

  /**
   * Returns the error for a list request that has failed, with all problems of its parameters.
   *
   * If the database has rejected a value as malformed for its column (`inet`, `ltree`, a native enum), the error names
   * each parameter at fault. Each parameter is tested by its own query, so that clients are not blamed for values of
   * the program.
   */
  async errorFor(request: FastifyRequest, error: unknown): Promise<unknown> {
    if (error instanceof InvalidUsage) await this.check(request);
    if (violationOf(error)?.kind !== 'value') return error;
    const given = parametersOf(request);
    const problems = new InvalidUsageCollector();
    for (const { name } of this.#filters.flatMap((filter) => [...filter.parameters])) {
      if (!given.has(name)) continue;
      await problems.attemptLater(() => this.#tryParameter(request, name));
    }
    try {
      problems.throwIfAny();
    } catch (blamed) {
      return blamed;
    }
    return error;
  }

  /** Throws InvalidUsage if the database rejects the value of one parameter. */
  async #tryParameter(request: FastifyRequest, name: string): Promise<void> {
    let records = this.#records.using(request);
    const parameters = parametersOf(request).only(name);
    try {
      for (const filter of this.#filters) records = await applyFilter(filter, records, request, parameters);
      await records.exists();
    } catch (error) {
      if (violationOf(error)?.kind === 'value') throw invalidParameter(name, 'does not fit the type of its field');
      throw error;
    }
  }

  /** Throws InvalidUsage that names every invalid parameter. Runs no query. */
  async check(request: FastifyRequest): Promise<void> {
    const problems = new InvalidUsageCollector();
    const queryset = this.#records.using(request);
    for (const filter of this.#filters) await problems.attemptLater(() => applyFilter(filter, queryset, request));
    problems.attempt(() => this.#paginator?.check(parametersOf(request)));
    problems.throwIfAny();
  }
}

/** Applies a filter. Its values come from the client, so a value that does not fit its field gives 400. */
function applyFilter<Entity extends object>(
  filter: Filter,
  queryset: QuerySet<Entity>,
  request: FastifyRequest,
  parameters = parametersOf(request),
): Awaitable<QuerySet<Entity>> {
  return thenOrCatch(
    () => filter.apply(queryset, parameters, request),
    (narrowed) => narrowed,
    (error) => {
      throw error instanceof FieldValueError ? new InvalidUsage(error.message, { cause: error }) : error;
    },
  );
}

/**
 * Restricts the records that a filter has selected to the given records. The result keeps the condition of the given
 * records. It also keeps their MikroORM filters, unless the selection names filters.
 */
export function narrowTo<Entity extends object>(given: QuerySet<Entity>, found: QuerySet<Entity>): QuerySet<Entity> {
  const narrowed = found.where(given.condition);
  return narrowed.filters !== undefined || given.filters === undefined ? narrowed : narrowed.withFilters(given.filters);
}
