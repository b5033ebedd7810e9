import { Type, type TSchema } from 'typebox';
import { InvalidUsageCollector } from '../errors/invalid-usage-collector.ts';
import { wrongOption } from '../errors/options.ts';
import { invalidParameter, type ParameterDeclaration, type QueryParameters } from '../http/parameters.ts';
import { after } from '../query/language/condition.ts';
import { reversed, type OrderKey } from '../query/language/order.ts';
import { type Positioned, type Projection, withPosition } from '../query/language/projection.ts';
import type { QuerySet } from '../query/queryset.ts';
import { CursorCodec, type Cursor } from './cursor-codec.ts';
import { type Exchange, type PageLinks, sendLinks } from './link-header.ts';
import { Paginator, type PaginatorOptions } from './paginator.ts';
import { PAGINATOR_RULES, type PaginatorSettings, type PaginatorWith, paginatorWith } from './paginator-with.ts';

/** The body of a list with cursors. */
export interface CursorEnvelope<Item> {
  readonly next: boolean;
  readonly previous: boolean;
  /** The `cursor` of the next page; null if there is none. */
  readonly next_cursor: string | null;
  /** The `cursor` of the previous page; null if there is none. */
  readonly previous_cursor: string | null;
  readonly results: Item[];
}

/** The fields that hold the names of parameters. */
const CURSOR_FIELDS = { cursor: 'cursorParameter', page_size: 'pageSizeParameter' } as const;

/**
 * Divides lists by a position in their order (keyset): `?cursor=…&page_size=20`. Every page costs the same, however
 * deep it is. If records are added or deleted meanwhile, other records are neither repeated nor skipped. Any order
 * works: ties, NULLs, mixed directions.
 *
 * The response is `{ next, previous, next_cursor, previous_cursor, results }`. A cursor is null if its flag is false.
 * There is no count, and a page takes one query. A cursor is encrypted and reveals nothing about its record. A cursor
 * that was changed, or comes from another path or `sort`, gives 400. It does not contain the filters, so send them
 * again.
 *
 * @throws ImproperlyConfigured at registration, without a secret of at least 32 bytes
 * @example
 * // GET /events?sort=-created_at&page_size=20
 * // {"next":true,"previous":false,"next_cursor":"q83v…","previous_cursor":null,"results":[ 20 records ]}
 * // GET /events?sort=-created_at&page_size=20&cursor=q83v…
 */
export class CursorPagination extends Paginator {
  /**
   * Returns this paginator with other names, sizes and settings, without a subclass. `names` renames parameters and members of a page.
   *
   * @throws ImproperlyConfigured for a name that the paginator does not have
   * @example
   * const pagination = CursorPagination.with({ names: { cursor: 'after', next_cursor: 'endCursor', previous_cursor: null } });
   * // GET /events?after=q83v…
   * // {"next":true,"previous":true,"endCursor":"x1Rk…","results":[ 10 records ]}
   */
  static with<const Settings extends PaginatorSettings<'cursor' | 'page_size'>>(
    settings: Settings,
  ): PaginatorWith<CursorPagination, Settings, typeof CURSOR_FIELDS> {
    return paginatorWith(this, settings, CURSOR_FIELDS, PAGINATOR_RULES) as never;
  }

  /** The name of the query parameter that holds the cursor. */
  readonly cursorParameter: string = 'cursor';
  /** The name of the query parameter that holds the size of the page. */
  readonly pageSizeParameter: string = 'page_size';
  readonly #codec: CursorCodec;

  constructor(options: PaginatorOptions = {}) {
    super(options);
    if (options.count !== undefined && options.count !== 'none') {
      throw wrongOption(this.owner, 'count', '"none" or nothing, since pages by cursor have no count', options.count);
    }
    this.#codec = new CursorCodec(this.owner, options.secret);
  }

  get parameters(): readonly ParameterDeclaration[] {
    const description = 'Where the page begins: next_cursor or previous_cursor of another page of the same order';
    return [
      { name: this.cursorParameter, schema: Type.String({ description }), pages: 'cursor' },
      this.declareSize(this.pageSizeParameter),
    ];
  }

  envelope(item: TSchema): TSchema {
    return Type.Object({
      next: Type.Boolean({ description: 'True if a next page exists' }),
      previous: Type.Boolean({ description: 'True if a previous page exists' }),
      next_cursor: Type.Union([Type.String(), Type.Null()], { description: 'The cursor of the next page' }),
      previous_cursor: Type.Union([Type.String(), Type.Null()], { description: 'The cursor of the previous page' }),
      results: Type.Array(item, { description: 'The records of this page' }),
    });
  }

  async paginate<E extends object, R>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    parameters: QueryParameters,
    exchange?: Exchange,
  ): Promise<CursorEnvelope<R>> {
    const keys = queryset.totalOrder();
    const basis = basisOf(this.options, parameters.path, queryset.meta.className, keys);
    const [cursor, pageSize] = InvalidUsageCollector.both(
      () => this.#readCursor(parameters, basis),
      () => this.readSize(parameters, this.pageSizeParameter),
    );
    const { backwards, position } = cursor;
    const order = backwards ? reversed(keys) : keys;
    const ordered = queryset.orderByPaths(order);
    const rest = position === null ? ordered : ordered.where(after(order, position));
    // Reads one record more than a page holds, to learn whether another page follows.
    const found = await rest.slice(0, pageSize + 1).rows(withPosition(projection, keys));
    const page = found.slice(0, pageSize);
    const envelope = this.#envelope(basis, cursor, backwards ? page.toReversed() : page, found.length > pageSize);
    if (this.links && exchange !== undefined) {
      const at = (text: string | null): PageLinks['next'] =>
        text === null ? undefined : { [this.cursorParameter]: text };
      const first = { [this.cursorParameter]: undefined };
      sendLinks(exchange, { first, prev: at(envelope.previous_cursor), next: at(envelope.next_cursor) });
    }
    return envelope;
  }

  override check(parameters: QueryParameters): void {
    this.readSize(parameters, this.pageSizeParameter);
  }

  #readCursor(parameters: QueryParameters, basis: string): Cursor {
    const text = parameters.one(this.cursorParameter);
    if (text === undefined) return { backwards: false, position: null };
    const cursor = this.#codec.open(basis, text);
    if (cursor !== undefined) return cursor;
    throw invalidParameter(this.cursorParameter, 'must be a cursor that this list gave out for the same order');
  }

  /**
   * @param more true if records follow the page in the direction of reading; if a cursor was sent, there are records
   * behind it too
   */
  #envelope<R>(
    basis: string,
    { backwards, position }: Cursor,
    page: readonly Positioned<R>[],
    more: boolean,
  ): CursorEnvelope<R> {
    const behind = position !== null;
    const next = backwards ? behind : more;
    const previous = backwards ? more : behind;
    // An empty page has no record to continue from. No records follow it, so the page before it begins at the edge of
    // the list.
    const last = page.at(-1)?.position ?? null;
    const first = page[0]?.position ?? null;
    return {
      next,
      previous,
      next_cursor: next ? this.#codec.seal(basis, { backwards: false, position: last }) : null,
      previous_cursor: previous ? this.#codec.seal(basis, { backwards: true, position: first }) : null,
      results: page.map(({ record }) => record),
    };
  }
}

/** Returns the list and the order of a position, as JSON. */
function basisOf(
  { path, name }: PaginatorOptions,
  parents: QueryParameters['path'],
  entity: string,
  keys: readonly OrderKey[],
): string {
  const order = keys.map((key) => [key.path.key, key.path.type.kind, key.descending]);
  return JSON.stringify([path, parents, name, entity, order]);
}
