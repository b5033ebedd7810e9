import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { checkOptionsAreRead } from '../../filters/default-filters.ts';
import { type Filter, type FilterClass, type FilterTarget, resolveOption } from '../../filters/filter.ts';
import { isTextSearch, type TextSearch, type ViewSearch } from '../../filters/text-search.ts';
import { orderKey } from '../../query/language/order.ts';
import { checkValues, LIST, prefixErrors } from '../../errors/options.ts';
import { PageNames } from '../../pagination/page-names.ts';
import { CountedPagination } from '../../pagination/counted-pagination.ts';
import { CursorPagination } from '../../pagination/cursor-pagination.ts';
import type { Paginator, PaginatorClass } from '../../pagination/paginator.ts';
import type { ParameterDeclaration } from '../../http/parameters.ts';
import type { QuerySet } from '../../query/queryset.ts';
import type { IsShown } from '../../shapes/read/shown-paths.ts';
import { ListFilters } from './list-filters.ts';
import { LIST_RULES } from './list-options.ts';
import type { RecordOutputs } from '../output/record-outputs.ts';
import type { RecordFormat } from '../output/record-format.ts';
import { withKeyword } from '../../shapes/schema-object.ts';
import type { AnyModelOptions } from './model-viewset-options.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import { type Operation, requireOperation } from '../request/operation.ts';
import type { DeclaredList, ListDefinition } from './list-definition.ts';
import type { ViewContext } from './view-definition.ts';

/** The declarations of a view that its lists depend on. */
interface ListDeclarations {
  readonly name: string;
  /** All records of the entity. */
  readonly records: QuerySet<object>;
  readonly options: AnyModelOptions;
  readonly operations: readonly Operation[];
  /** The outputs of the view. Clients may select their fields. */
  readonly outputs: Pick<RecordOutputs, 'parametersOf' | 'choicesFor'>;
  readonly context: ViewContext;
  readonly isShown: IsShown;
  readonly format: RecordFormat;
  readonly overrides: ViewOverrides;
}

/** The lists of a view: their order, filters, pages, exports and query parameters. */
export class RecordLists implements ListDefinition {
  /** All records in the view's order. Bind them to the entity manager of a request before use. */
  readonly records: QuerySet<object>;
  readonly paginator: Paginator | null;
  readonly declared: DeclaredList;
  readonly pageMembers: ListDefinition['pageMembers'];
  readonly parameters: readonly ParameterDeclaration[];
  readonly unpagedParameters: readonly ParameterDeclaration[];
  readonly takesQuery: boolean;
  readonly filters: ListFilters;
  /** The most records of a page. Undefined if code of the application makes the pages. */
  readonly #maxItems: number | undefined;
  readonly #documented = new WeakMap<TSchema, TSchema>();

  constructor(declarations: ListDeclarations) {
    const { name, records, options, operations, outputs, context, isShown, format } = declarations;
    const outputParameters = outputs.parametersOf('list');
    checkValues(name, options, LIST_RULES);
    const target = filterTarget(name, records, options, isShown);
    const filters = makeFilters(target, options, context.defaults.filters);
    this.paginator = makePaginator(name, options, context, format);
    this.#maxItems = maxItemsOf(this.paginator, declarations);
    this.declared = Object.freeze({
      target,
      ordering: options.ordering ?? [],
      pageSizes: this.paginator?.sizes ?? null,
    });
    this.pageMembers = (this.paginator?.pageNames ?? new PageNames(name, {}, format.pageNames)).changed;
    this.records = applyOrdering(name, records, options).by('view');
    this.filters = new ListFilters(filters, this.paginator, this.records);
    this.takesQuery = options.queryMethod === true;
    if (this.takesQuery) requireOperation(`${name}: option "queryMethod"`, 'list', operations);
    this.parameters = declaredParameters(name, outputParameters, filters, this.paginator);
    const ofPages = new Set(this.paginator?.parameters.map((parameter) => parameter.name));
    this.unpagedParameters = this.parameters.filter((parameter) => !ofPages.has(parameter.name));
  }

  get isPaged(): boolean {
    return this.paginator !== null;
  }

  get narrowingParameters(): readonly ParameterDeclaration[] {
    return this.unpagedParameters.filter((parameter) => parameter.orders === undefined);
  }

  get headers(): Readonly<Record<string, TSchema>> {
    return this.paginator?.headers ?? {};
  }

  documentPage(page: TSchema): TSchema {
    const maxItems = this.#maxItems;
    if (maxItems !== undefined && this.paginator?.pageNames.isArray === true) {
      return getOrMake(this.#documented, page, () => withKeyword(page, 'maxItems', maxItems));
    }
    const name = this.paginator?.pageNames.of('results');
    const { properties } = page as { readonly properties?: Readonly<Record<string, TSchema>> };
    const records = name === undefined ? undefined : properties?.[name];
    if (maxItems === undefined || records === undefined) return page;
    const bounded = { ...properties, [name!]: withKeyword(records, 'maxItems', maxItems) };
    return getOrMake(this.#documented, page, () => withKeyword(page, 'properties', bounded));
  }
}

function applyOrdering(name: string, records: QuerySet<object>, { ordering = [] }: AnyModelOptions): QuerySet<object> {
  const keys = ordering.map((sort) => resolveOption(name, 'ordering', sort, () => orderKey(records.meta, sort)));
  return records.orderByPaths(keys);
}

function filterTarget(
  name: string,
  records: QuerySet<object>,
  options: AnyModelOptions,
  isShown: IsShown,
): FilterTarget {
  const { meta } = records;
  const { searchFields = [] } = options;
  return {
    name,
    meta,
    isShown,
    ...(isTextSearch(searchFields)
      ? { searchFields: [], search: makeSearch(name, records, searchFields) }
      : { searchFields }),
    filterFields: options.filterFields ?? {},
    orderingFields: options.orderingFields ?? {},
    ...(options.jsonLogicFields === undefined ? {} : { jsonLogicFields: options.jsonLogicFields }),
  };
}

function makeSearch(name: string, records: QuerySet<object>, search: TextSearch<never>): ViewSearch {
  const { meta, reader: em, database } = records;
  return prefixErrors(name, () => search.forView({ name, meta, em, database }));
}

/** Returns the most records of the view's pages, if a built-in paginator makes them and no hook changes them. */
function maxItemsOf(paginator: Paginator | null, { overrides }: ListDeclarations): number | undefined {
  const isBuiltIn = paginator instanceof CountedPagination || paginator instanceof CursorPagination;
  return isBuiltIn && overrides.listMaker(true) === undefined ? paginator.sizes.maxPageSize : undefined;
}

function makeFilters(target: FilterTarget, { filters }: AnyModelOptions, defaults: readonly FilterClass[]): Filter[] {
  if (filters !== undefined) checkOptionsAreRead(target, filters);
  return (filters ?? defaults).map((FilterClass) => new FilterClass(target));
}

function makePaginator(
  name: string,
  options: AnyModelOptions,
  { defaults, path }: ViewContext,
  { pageNames }: RecordFormat,
): Paginator | null {
  const Pagination: PaginatorClass | null = options.pagination === undefined ? defaults.pagination : options.pagination;
  const { pageSize, maxPageSize, count } = options;
  if (Pagination === null) {
    const [unread] = Object.entries({ pageSize, maxPageSize, count }).find(([, value]) => value !== undefined) ?? [];
    // A view with `pagination: null` may share options with views that have pages.
    if (unread === undefined || options.pagination === null) return null;
    throw new ImproperlyConfigured(
      `${name}: option "${unread}" has no effect, since the application has no pagination`,
    );
  }
  return new Pagination({ name, path, pageSize, maxPageSize, count, pageNames, secret: defaults.secret });
}

/**
 * Collects the parameters of the view's filters and paginator. Throws ImproperlyConfigured if two of them read the same
 * parameter.
 */
function declaredParameters(
  name: string,
  ofOutputs: readonly ParameterDeclaration[],
  filters: readonly Filter[],
  paginator: Paginator | null,
): ParameterDeclaration[] {
  const owners = new Map(ofOutputs.map((parameter) => [parameter.name, `the option "${parameter.name}"`]));
  return [...filters, ...(paginator === null ? [] : [paginator])].flatMap((source) => {
    const who = source.constructor.name;
    const { parameters } = source;
    checkValues(`${name}: ${who}`, { parameters: parameters ?? null }, { parameters: LIST });
    for (const parameter of parameters) {
      const owner = owners.get(parameter.name);
      if (owner !== undefined) {
        throw new ImproperlyConfigured(
          `${name}: query parameter "${parameter.name}" is declared by both ${owner} and ${who}`,
        );
      }
      owners.set(parameter.name, who);
    }
    return parameters;
  });
}
