import { Type, type TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { wrongOption } from '../errors/options.ts';
import { invalidParameter, type ParameterDeclaration, type QueryParameters } from '../http/parameters.ts';
import type { Counting } from '../query/language/query.ts';
import type { Projection } from '../query/language/projection.ts';
import type { QuerySet } from '../query/queryset.ts';
import { type Exchange, LINK_HEADERS } from './link-header.ts';
import { type MemberNames, type PageMemberNames, PageNames } from './page-names.ts';

/** The options of a view about its pages, with its name and its path. */
export interface PaginatorOptions {
  /** The name of the view's class, for messages. */
  readonly name?: string | undefined;
  /** The path of the view's collection, `/api/products`. A cursor is valid only at the path that issued it. */
  readonly path?: string | undefined;
  /** The number of records on a page if the request gives no size. Default: the paginator's own, 10. */
  readonly pageSize?: number | undefined;
  /** The most records on a page. Larger requested sizes become this size. Default: the paginator's own, 100. */
  readonly maxPageSize?: number | undefined;
  /** How all records of a list are counted: `exact`, `estimated` or `none`. Default: the paginator's own, exact. */
  readonly count?: Counting | undefined;
  /** The names of the view for members of its pages. They take precedence over `memberNames`. */
  readonly pageNames?: PageMemberNames | undefined;
  /** Encrypts cursors; at least 32 bytes. Only CursorPagination needs it. */
  readonly secret?: string | Uint8Array | undefined;
}

/** The class of a paginator, as a view names it. Each view creates one instance at registration. */
export type PaginatorClass = new (options: PaginatorOptions) => Paginator;

/** The sizes of a view's pages, in records. */
export interface PageSizes {
  readonly pageSize: number;
  readonly maxPageSize: number;
}

/**
 * Divides lists into pages. Override the fields of a built-in paginator to change its sizes and the names of its parameters. Extend this
 * class for another kind of pages.
 *
 * Each view has one instance, made at registration; a wrong size then throws `ImproperlyConfigured`. It keeps no state of a request.
 *
 * @example
 * class BigPages extends PageNumberPagination {
 *   override readonly pageSize = 50;
 *   override readonly maxPageSize = 500;
 *   override readonly pageParameter = 'p';   // GET /products?p=2
 * }
 */
export abstract class Paginator {
  /** The number of records on a page if neither the request nor the view gives a size. */
  readonly pageSize: number = 10;
  /** The most records on a page, unless the view sets another number. A request for more gets this many. */
  readonly maxPageSize: number = 100;
  /**
   * True: lists send a `Link` header (RFC 8288) with the first, previous, next and last page, as far as they are known.
   * The built-in paginators implement it. Default: false.
   */
  readonly links: boolean = false;
  /**
   * New names for the members of a page, by their default names. null leaves a member out. `paginate` and `envelope`
   * use the default names, and the library renames their results. `with()` of a built-in paginator sets this. Default:
   * none.
   */
  readonly memberNames: MemberNames = {};
  protected readonly options: PaginatorOptions;
  #sizes: PageSizes | undefined;
  #sizeBounds: IntegerBounds | undefined;
  #pageNames: PageNames | undefined;

  constructor(options: PaginatorOptions = {}) {
    this.options = options;
    for (const name of ['pageSize', 'maxPageSize'] as const) {
      const size = options[name];
      if (size !== undefined) checkSize(this.owner, name, size);
    }
  }

  /** The query parameters that this paginator reads. The library reads this once, at registration. */
  abstract readonly parameters: readonly ParameterDeclaration[];

  /** The headers of a list's response, by their names in lower case, for documents. Default: the header of `links`. */
  get headers(): Readonly<Record<string, TSchema>> {
    return this.links ? LINK_HEADERS : {};
  }

  /** Makes the schema of a page with items of a schema. It serializes and documents the page. */
  abstract envelope(item: TSchema): TSchema;

  /**
   * Reads the requested page, in the form of `envelope`.
   *
   * @param exchange the request and its reply, for headers; undefined if an action did not pass the reply
   * @throws InvalidUsage (400) for a wrong parameter
   */
  abstract paginate<E extends object, R>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    parameters: QueryParameters,
    exchange?: Exchange,
  ): Promise<object>;

  /**
   * Throws the errors of `paginate` for wrong parameters, without a query. It is called only if a filter has already failed, so that one
   * response names all wrong parameters. Default: does nothing.
   */
  check(_parameters: QueryParameters): void {}

  /**
   * The effective names of the members of a page, from the view's names and `memberNames`.
   *
   * @throws ImproperlyConfigured on first use, which is at registration, if two members have the same name
   */
  get pageNames(): PageNames {
    return (this.#pageNames ??= new PageNames(this.owner, this.memberNames, this.options.pageNames, this.isArray));
  }

  /** True: a list is an array of its records. The library sends only `results` of the page that `paginate` returns. */
  protected get isArray(): boolean {
    return false;
  }

  /** The beginning of error messages: the view, if it is known, and the paginator. */
  protected get owner(): string {
    const { name } = this.options;
    return name === undefined ? this.constructor.name : `${name} (${this.constructor.name})`;
  }

  /**
   * The effective sizes: the view's, or the class's if the view sets none. The fields of a subclass exist only after
   * the constructor, so they are checked on first use, when `parameters` is read.
   *
   * @throws ImproperlyConfigured if a size is not a positive integer, or pageSize exceeds maxPageSize
   */
  get sizes(): PageSizes {
    return (this.#sizes ??= this.#checkSizes());
  }

  #checkSizes(): PageSizes {
    const { pageSize = this.pageSize, maxPageSize = this.maxPageSize } = this.options;
    checkSize(this.owner, 'pageSize', pageSize);
    checkSize(this.owner, 'maxPageSize', maxPageSize);
    if (pageSize <= maxPageSize) return { pageSize, maxPageSize };
    throw new ImproperlyConfigured(
      `${this.owner}: pageSize (${pageSize}) must not exceed maxPageSize (${maxPageSize})`,
    );
  }

  /** Declares the size parameter, for `parameters`. */
  protected declareSize(parameter: string): ParameterDeclaration {
    const { maxPageSize } = this.sizes;
    const description = `Records on a page; at most ${maxPageSize}, more counts as ${maxPageSize}`;
    const declared = integerDeclaration(parameter, this.#boundsOfSize, description);
    return { ...declared, pages: 'size', maxPageSize };
  }

  /** Returns the requested size: the default if the parameter is missing, the maximum if it is exceeded. */
  protected readSize(parameters: QueryParameters, parameter: string): number {
    return Math.min(integerParameter(parameters, parameter, this.#boundsOfSize), this.sizes.maxPageSize);
  }

  get #boundsOfSize(): IntegerBounds {
    return (this.#sizeBounds ??= { minimum: 1, maximum: MAX_INTEGER, default: this.sizes.pageSize });
  }
}

function checkSize(owner: string, name: string, size: unknown): void {
  const fits = Number.isInteger(size) && (size as number) >= 1 && (size as number) <= MAX_SIZE;
  if (!fits) throw wrongOption(owner, name, `an integer from 1 to ${MAX_SIZE}`, size);
}

/** A whole page is kept in memory. */
const MAX_SIZE = 1_000_000;
/** The largest page, size or offset: the largest 32-bit integer. */
export const MAX_INTEGER = 2_147_483_647;

/** The allowed integers of a query parameter, and its default. */
export interface IntegerBounds {
  readonly minimum: 0 | 1;
  readonly maximum: number;
  readonly default: number;
}

const CANONICAL = /^(?:0|[1-9][0-9]{0,9})$/;

/**
 * Reads the integer of a query parameter; the default if it is missing. Only the canonical decimal form is valid: `01`,
 * `+1`, `1.0`, `1e2` and ` 1` are rejected, so a page never has two URLs.
 *
 * @throws InvalidUsage for any other text, or a number out of bounds
 */
export function integerParameter(parameters: QueryParameters, name: string, bounds: IntegerBounds): number {
  const text = parameters.one(name);
  if (text === undefined) return bounds.default;
  const { minimum, maximum } = bounds;
  const value = CANONICAL.test(text) ? Number(text) : NaN;
  if (value >= minimum && value <= maximum) return value;
  const kind = minimum === 1 ? 'a positive integer' : 'a non-negative integer';
  throw invalidParameter(name, `must be ${kind} up to ${maximum}`);
}

/** Declares a parameter that holds an integer, for documentation. */
export function integerDeclaration(name: string, bounds: IntegerBounds, description: string): ParameterDeclaration {
  return { name, schema: Type.Integer({ ...bounds, description }) };
}
