// react-admin-lists.ts
import {
  type Exchange,
  Filter,
  invalidParameter,
  LimitOffsetPagination,
  OrderingFilter,
  type ParameterDeclaration,
  type Projection,
  QueryParameterFilter,
  QueryParameters,
  type QuerySet,
  SearchFilter,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';

/** For ra-data-django-rest-framework: `?ordering=-title`. */
export class DjangoOrdering extends OrderingFilter {
  override readonly parameter = 'ordering';
}

/** For ra-data-json-server: `?_sort=title&_order=DESC`. */
export class JsonServerOrdering extends OrderingFilter {
  override readonly parameter = '_sort';

  override get parameters(): readonly ParameterDeclaration[] {
    const declared = super.parameters;
    return declared.length === 0 ? [] : [...declared, { name: '_order', schema: Type.Enum(['ASC', 'DESC']) }];
  }

  override apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters, request: FastifyRequest) {
    const [name, order = 'ASC'] = [parameters.one('_sort'), parameters.one('_order')];
    if (order !== 'ASC' && order !== 'DESC') throw invalidParameter('_order', 'must be ASC or DESC');
    const isUsual = name === undefined || order === 'ASC';
    return super.apply(queryset, isUsual ? parameters : new QueryParameters({ _sort: `-${name}` }), request);
  }
}

/** For ra-data-json-server: `?_start=0&_end=25`. */
export class JsonServerPages extends LimitOffsetPagination.with({
  names: { offset: '_start', limit: '_limit' },
  totalHeader: 'X-Total-Count',
  pageSize: 100,
}) {
  override get parameters(): readonly ParameterDeclaration[] {
    return [...super.parameters, { name: '_end', schema: Type.Integer({ minimum: 1 }) }];
  }

  override paginate<E extends object, R>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    parameters: QueryParameters,
    exchange?: Exchange,
  ) {
    const [start = '0', end] = [parameters.one('_start'), parameters.one('_end')];
    const limit = end === undefined ? parameters.one('_limit') : String(Number(end) - Number(start));
    if (limit !== undefined && !(Number(limit) >= 1)) throw invalidParameter('_end', 'must be greater than _start');
    return super.paginate(queryset, projection, new QueryParameters({ _start: start, _limit: limit }), exchange);
  }
}

const JSON_TEXT = { contentMediaType: 'application/json' };

/** For ra-data-simple-rest: `?filter={"status":"open","q":"tea"}&sort=["title","DESC"]`. */
export class SimpleRestFilters extends Filter {
  static override readonly reads = ['searchFields', 'filterFields', 'orderingFields'] as const;
  readonly parameters: readonly ParameterDeclaration[] = [
    { name: 'filter', schema: Type.String({ ...JSON_TEXT, contentSchema: Type.Object({}) }) },
    { name: 'sort', schema: Type.String({ ...JSON_TEXT, contentSchema: Type.Array(Type.String()) }) },
  ];
  readonly #filters = [SearchFilter, QueryParameterFilter].map((Usual) => new Usual(this.target));
  readonly #ordering = new OrderingFilter(this.target);

  async apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters, request: FastifyRequest) {
    const { q: search, ...fields } = (parameters.json('filter') ?? {}) as Record<string, unknown>;
    const known = new Set(this.#filters.flatMap((filter) => filter.parameters.map(({ name }) => name)));
    const unknown = Object.keys(fields).find((name) => !known.has(name));
    if (unknown !== undefined) throw invalidParameter('filter', `does not know the name "${unknown}"`);
    const texts = Object.entries(fields).map(([name, value]) => [name, [value].flat().map(String)] as const);
    const usual = new QueryParameters({ ...Object.fromEntries(texts), ...(search !== undefined && { search }) });
    let found = queryset;
    for (const filter of this.#filters) found = await filter.apply(found, usual, request);
    return this.#ordering.apply(found, new QueryParameters({ sort: sortOf(parameters.json('sort')) }), request);
  }
}

/** `["title","DESC"]` is `-title`. */
function sortOf(pair: unknown): string | undefined {
  if (pair === undefined) return undefined;
  const [name, order] = Array.isArray(pair) ? (pair as unknown[]) : [];
  if (typeof name === 'string' && (order === 'ASC' || order === 'DESC')) return order === 'ASC' ? name : `-${name}`;
  throw invalidParameter('sort', 'must be a name and ASC or DESC: ["title","ASC"]');
}

/** For ra-data-simple-rest: `?range=[0,24]`. */
export class SimpleRestPages extends LimitOffsetPagination.with({ totalHeader: 'Content-Range', pageSize: 100 }) {
  override get parameters(): readonly ParameterDeclaration[] {
    const schema = Type.String({ ...JSON_TEXT, contentSchema: Type.Array(Type.Integer()) });
    return [...super.parameters, { name: 'range', schema }];
  }

  override paginate<E extends object, R>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    parameters: QueryParameters,
    exchange?: Exchange,
  ) {
    const range = parameters.json('range');
    if (range === undefined) return super.paginate(queryset, projection, parameters, exchange);
    const [first, last] = (Array.isArray(range) ? range : []).map(Number);
    const limit = last! - first! + 1;
    if (!(first! >= 0 && limit >= 1)) throw invalidParameter('range', 'must be the first and the last place: [0,24]');
    const usual = new QueryParameters({ offset: String(first), limit: String(limit) });
    return super.paginate(queryset, projection, usual, exchange);
  }
}
