import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Awaitable, whenReady } from '../../support/awaitable.ts';
import { type QuerySet, slicedError } from '../../query/queryset.ts';
import { type RecordOutputOf, markShapedByClient } from '../request/record-output.ts';
import { parametersOf } from '../request/request-state.ts';
import { narrowTo } from '../setup/list-filters.ts';
import type { ViewParts } from './view-parts.ts';

/** The hooks of a view that `list` calls. */
interface ListHooks<Entity extends object> {
  readonly name: string;
  filterQueryset(request: FastifyRequest, queryset: QuerySet<Entity>): Awaitable<QuerySet<Entity>>;
  paginate(request: FastifyRequest, queryset: QuerySet<Entity>, reply: FastifyReply): Promise<object>;
  rows(queryset: QuerySet<Entity>, request: FastifyRequest): Promise<readonly object[]>;
}

/** GET and QUERY on the collection. */
export class ListOperation<Entity extends object, Output extends object> {
  readonly #view: ListHooks<Entity>;
  readonly #parts: ViewParts<Entity>;

  constructor(view: ListHooks<Entity>, parts: ViewParts<Entity>) {
    this.#view = view;
    this.#parts = parts;
  }

  /** Sends a page of the records, or all of them without pagination, or another form of the list by `Accept`. */
  run(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { features, lists } = this.#parts.resolved;
    return this.#selecting(request, async (select) => {
      const representation = features.representationFor(request, reply);
      if (representation !== undefined) {
        return representation.send(request, reply, select as unknown as () => Awaitable<QuerySet<object>>);
      }
      const records = await select();
      return lists.paginator === null
        ? this.#view.rows(records, request)
        : this.#view.paginate(request, records, reply);
    });
  }

  /** Selects the records of the list, before the page. */
  selected<Result>(request: FastifyRequest, use: (records: QuerySet<Entity>) => Awaitable<Result>): Promise<Result> {
    return this.#selecting(request, async (select) => use(await select()));
  }

  /** Makes a page of a query set. */
  async page(request: FastifyRequest, found: QuerySet<Entity>, reply: FastifyReply | undefined): Promise<object> {
    const { resolved, records } = this.#parts;
    const { name } = this.#view;
    const queryset = records.narrow(request, found);
    const { paginator } = resolved.lists;
    if (paginator === null) throw new TypeError(`${name}: paginate() needs a paginator, but pagination is off`);
    if (queryset.isSliced) throw slicedError(name, 'what paginate() gets', 'the paginator');
    if (reply === undefined && paginator.pageNames.isArray) {
      throw new TypeError(`${name}: paginate() needs the reply as its third argument, because a header has the total`);
    }
    const output = this.#output(request);
    const page = await paginator.paginate(
      markShapedByClient(queryset, output),
      output.records,
      parametersOf(request),
      reply && { request, reply },
    );
    return paginator.pageNames.apply(page);
  }

  /** Reads the records of a query set. Without a request, they are in the default shape and of any scope. */
  rows(queryset: QuerySet<Entity>, request: FastifyRequest | undefined): Promise<Output[]> {
    const { resolved, records } = this.#parts;
    if (request === undefined) {
      const output = resolved.outputs.defaultFor('list') as RecordOutputOf<Output>;
      return markShapedByClient(queryset, output).rows(output.records);
    }
    const output = this.#output(request);
    return markShapedByClient(records.narrow(request, queryset), output).rows(output.records);
  }

  /**
   * Selects the records that the request sees, and those of them that the filters leave. An override of the filters may
   * have started from all records, so the result is narrowed to the visible ones. If the work fails, the error names
   * every invalid parameter.
   */
  async #selecting<Result>(
    request: FastifyRequest,
    use: (select: () => Awaitable<QuerySet<Entity>>) => Promise<Result>,
  ): Promise<Result> {
    const { resolved, records } = this.#parts;
    const visible = records.forList(request);
    try {
      return await use(() => whenReady(this.#view.filterQueryset(request, visible), (kept) => narrowTo(visible, kept)));
    } catch (error) {
      throw await resolved.lists.filters.errorFor(request, error);
    }
  }

  #output(request: FastifyRequest): RecordOutputOf<Output> {
    return this.#parts.resolved.outputs.of(request, 'list') as RecordOutputOf<Output>;
  }
}
