import type { OperationPlan } from '@viewset/core';
import type { Returned } from './call.ts';
import { isObject, type JsonObject } from './json-schema.ts';

/** A page of a list, in the same form for all paginators. */
export interface RecordPage {
  readonly records: readonly unknown[];
  /** The number of all records, if the list counts them. */
  readonly count?: number;
  /** The `query` of the next page; null on the last one. */
  readonly next: JsonObject | null;
}

/**
 * Reads the response of a list.
 *
 * @param query the query of the request
 * @param returned the body of the response, and the count in its headers
 * @returns undefined for a response that is not from a built-in paginator
 */
export function readPage(
  plan: OperationPlan,
  query: JsonObject,
  { value, total }: Pick<Returned, 'value' | 'total'>,
): RecordPage | undefined {
  const { pageMembers, queryParameters } = plan;
  const page = Array.isArray(value) ? { results: value as unknown[], count: total } : value;
  if (!isObject(page)) return undefined;
  const member = (name: string): unknown => {
    const renamed = pageMembers[name];
    return renamed === null ? undefined : page[renamed ?? name];
  };
  const records = member('results');
  if (!Array.isArray(records)) return undefined;
  const count = member('count');
  const parameter = queryParameters.find(({ pages }) => pages !== undefined && pages !== 'size');
  const size = queryParameters.find(({ pages }) => pages === 'size');
  const counted = typeof count === 'number' ? { count } : {};
  if (parameter === undefined) return { records, ...counted, next: null };
  const { name, pages } = parameter;
  if (pages === 'cursor') {
    const cursor = member('next_cursor');
    return { records, ...counted, next: typeof cursor === 'string' ? { ...query, [name]: cursor } : null };
  }
  const place = Number(query[name] ?? (pages === 'offset' ? 0 : 1));
  const next = { ...query, [name]: pages === 'offset' ? place + records.length : place + 1 };
  const stated = member('next');
  const fullSize = sizeOf(plan, size && query[size.name]);
  const before = pages === 'offset' ? place : (place - 1) * fullSize;
  const hasMore = typeof count === 'number' ? before + records.length < count : records.length >= fullSize;
  const isFollowed = typeof stated === 'boolean' ? stated : records.length > 0 && hasMore;
  return { records, ...counted, next: isFollowed ? next : null };
}

/** The number of records on a full page. */
function sizeOf({ list }: OperationPlan, requested: unknown): number {
  const { pageSize = 0, maxPageSize = 0 } = list?.pageSizes ?? {};
  return requested === undefined || requested === '' ? pageSize : Math.min(Number(requested), maxPageSize);
}
