import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { FilterTarget } from '../../filters/filter.ts';
import type { PageSizes } from '../../pagination/paginator.ts';
import type { ParameterDeclaration } from '../../http/parameters.ts';

/** The declarations of a view's lists, for programs that check them. */
export interface DeclaredList {
  /** The fields that clients can search, filter and order by. */
  readonly target: FilterTarget;
  /** The view's default order: paths with `__`, with a minus for descending. */
  readonly ordering: readonly string[];
  /** The page sizes. null: no pages. */
  readonly pageSizes: PageSizes | null;
}

/** The lists of a view. */
export interface ListDefinition {
  readonly declared: DeclaredList;
  /** The query parameters of lists. */
  readonly parameters: readonly ParameterDeclaration[];
  readonly isPaged: boolean;
  /** The renamed members of a list, by their usual names, for documents. null: the member is left out. */
  readonly pageMembers: Readonly<Record<string, string | null>>;
  /** True if clients can also request lists by QUERY, with the parameters in the body. */
  readonly takesQuery: boolean;
  /** The headers of the view's own list, by lower-case name, for documents. */
  readonly headers: Readonly<Record<string, TSchema>>;
  /** `parameters` without paging parameters, for lists that are sent as a file. */
  readonly unpagedParameters: readonly ParameterDeclaration[];
  /** `unpagedParameters` without parameters that order records. */
  readonly narrowingParameters: readonly ParameterDeclaration[];
  /** Adds the most records of a page to the schema of a page, for documents. The same input gives the same object. */
  documentPage(page: TSchema): TSchema;
  readonly filters: {
    /** Throws InvalidUsage that names every invalid parameter. Runs no query. */
    check(request: FastifyRequest): Promise<void>;
  };
}
