import type { Operation, Resource } from './api-model.ts';
import type { PagePart, Parameter, Schema } from './openapi.ts';
import { isRow } from './records.ts';

/** Parameters of lists that have a place of their own on the page. */
const RESERVED = new Set(['search', 'sort', 'expand', 'fields']);

/** The parameters that are filters; a condition in JSON, which few write by hand, comes last. */
export function filtersOf({ query }: Operation): readonly Parameter[] {
  const filters = query.filter((parameter) => !RESERVED.has(parameter.name) && partOf(parameter) === undefined);
  return filters.toSorted((left, right) => Number(isJson(left)) - Number(isJson(right)));
}

export function hasParameter({ query }: Operation, name: string): boolean {
  return query.some((parameter) => parameter.name === name);
}

/** The parameter that chooses a part of a page; undefined if the list has none. */
export function pageParameter({ query }: Operation, part: PagePart): Parameter | undefined {
  return query.find((parameter) => partOf(parameter) === part);
}

function partOf({ 'x-viewset': facts }: Parameter): PagePart | undefined {
  return facts?.pages;
}

/** The name of a list, with that of its view, if it has one. */
export function titleOfList({ name }: Resource, fragment: URLSearchParams): string {
  const view = fragment.get('view');
  return view === null ? name : `${name}: ${view}`;
}

/** Tells if a parameter is a condition in JSON. */
export function isJson({ schema }: Parameter): boolean {
  return schema?.contentMediaType === 'application/json';
}

/** Tells if a filter may come several times, and any of its values is to fit. The document has no keyword for it but these words. */
export function takesSeveral({ description = '' }: Parameter): boolean {
  return description.endsWith(', equal to this. Repeat the parameter for several values');
}

/** The schema of a parameter's value. */
export function schemaOf({ schema = {} }: Parameter): Schema {
  return schema;
}

/** The names that a parameter takes, such as those to order by, without the ones with a minus in front. */
export function namesOf({ query }: Operation, parameter: 'sort' | 'expand' | 'fields'): ReadonlySet<string> {
  const schema = query.find(({ name }) => name === parameter)?.schema;
  const names = (schema?.items?.enum ?? []).filter((name) => typeof name === 'string');
  return new Set(names.filter((name) => !name.startsWith('-')));
}

/** Keeps some parameters alone. */
export function only(query: URLSearchParams, names: readonly string[]): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => names.includes(name)));
}

export type Direction = 'ascending' | 'descending' | 'none';

/** The direction in which a list is ordered by a name. */
export function directionOf(query: URLSearchParams, name: string): Direction {
  const names = (query.get('sort') ?? '').split(',');
  if (names.includes(name)) return 'ascending';
  return names.includes(`-${name}`) ? 'descending' : 'none';
}

/** The place of a name among several that a list is ordered by, from 1; undefined if it is the only one, or none of them. */
export function rankOf(query: URLSearchParams, name: string): number | undefined {
  const names = (query.get('sort') ?? '').split(',');
  const place = names.findIndex((each) => each === name || each === `-${name}`);
  return names.length > 1 && place !== -1 ? place + 1 : undefined;
}

/** Orders by a name: upwards, then downwards, then not at all. `adds` keeps the other names. */
export function sorted(list: Operation, query: URLSearchParams, name: string, adds: boolean): URLSearchParams {
  const direction = directionOf(query, name);
  const next = { none: [name], ascending: [`-${name}`], descending: [] }[direction];
  const all = (query.get('sort') ?? '').split(',').filter((each) => each !== '');
  const isSame = (each: string): boolean => each === name || each === `-${name}`;
  const at = all.findIndex(isSame);
  const kept = adds ? (at === -1 ? [...all, ...next] : all.flatMap((each) => (isSame(each) ? next : [each]))) : next;
  return changed(list, query, { sort: kept.join(',') });
}

/** Changes some parameters, and goes back to the first page; an empty value takes a parameter away. */
export function changed(
  list: Operation,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | readonly string[]>>,
): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const parameter of list.query) {
    const part = partOf(parameter);
    if (part !== undefined && part !== 'size') next.delete(parameter.name);
  }
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    for (const each of [value].flat()) if (each !== '') next.append(name, each);
  }
  return next;
}

/** Takes away what says which page it is, and how long. */
export function unpaged(list: Operation, query: URLSearchParams): URLSearchParams {
  const size = pageParameter(list, 'size');
  return changed(list, query, size === undefined ? {} : { [size.name]: '' });
}

/** The relations that the records of a list have only if `expand` names them, and whether it does. */
export function expandable(list: Operation, query: URLSearchParams): ReadonlyMap<string, boolean> {
  const on = new Set((query.get('expand') ?? '').split(','));
  return new Map([...namesOf(list, 'expand')].map((name) => [name, on.has(name)]));
}

/** Asks for the chosen columns and the key alone, if the list can send these alone. */
export function withFields(
  list: Operation,
  query: URLSearchParams,
  columns: string | null,
  key: string,
): URLSearchParams {
  const known = namesOf(list, 'fields');
  const chosen = new Set([key, ...(columns ?? '').split(',')]);
  const relations = expandable(list, query);
  const names = [...known].filter((name) => chosen.has(name) && relations.get(name) !== false);
  if (columns === null || names.length < 2 || query.has('fields')) return query;
  const next = new URLSearchParams(query);
  next.set('fields', names.join(','));
  return next;
}

/** A page of a list, as far as the answer tells. */
export interface PageFacts {
  /** The number of records on the page. */
  readonly rows: number;
  /** The place of the first one in the whole list, from 1; undefined if nobody can tell, as behind a cursor. */
  readonly first: number | undefined;
  readonly count: number | undefined;
  readonly previous: URLSearchParams | undefined;
  readonly next: URLSearchParams | undefined;
}

/** Reads which page an answer is, and finds the ones beside it, for every paginator that the document can tell. */
export function pageFacts(list: Operation, query: URLSearchParams, body: unknown, rows: number): PageFacts {
  const envelope = (body ?? {}) as Readonly<Record<string, unknown>>;
  const count = countOf(body);
  const beside = (name: string, value: string): URLSearchParams => changed(list, query, { [name]: value });
  // A page that does not say what is beside it still says how many records it has.
  const isThere = (name: 'next' | 'previous', otherwise: boolean): boolean =>
    name in envelope ? envelope[name] === true : otherwise;
  const isBefore = (end: number, size: number): boolean => (count === undefined ? rows >= size : end < count);
  const sizeParameter = pageParameter(list, 'size');
  const size = Number(query.get(sizeParameter?.name ?? '') ?? sizeParameter?.schema?.default ?? rows);
  const number = pageParameter(list, 'number')?.name;
  if (number !== undefined) {
    const page = Number(query.get(number) ?? 1);
    const hasNext = isThere('next', isBefore(page * size, size));
    return {
      rows,
      first: (page - 1) * size + 1,
      count,
      previous: isThere('previous', page > 1) ? beside(number, page === 2 ? '' : String(page - 1)) : undefined,
      next: hasNext ? beside(number, String(page + 1)) : undefined,
    };
  }
  const start = pageParameter(list, 'offset')?.name;
  if (start !== undefined) {
    const offset = Number(query.get(start) ?? 0);
    const hasNext = isThere('next', isBefore(offset + size, size));
    return {
      rows,
      first: offset + 1,
      count,
      previous: isThere('previous', offset > 0) ? beside(start, offset > size ? String(offset - size) : '') : undefined,
      next: hasNext ? beside(start, String(offset + size)) : undefined,
    };
  }
  const cursor = pageParameter(list, 'cursor')?.name ?? '';
  const [before, after] = [envelope['previous_cursor'], envelope['next_cursor']];
  const hasPrevious = isThere('previous', typeof before === 'string');
  return {
    rows,
    first: hasPrevious ? undefined : 1,
    count,
    previous: hasPrevious && typeof before === 'string' ? beside(cursor, before) : undefined,
    next: isThere('next', true) && typeof after === 'string' ? beside(cursor, after) : undefined,
  };
}

/** The number of all records of a list, as its page tells it. */
export function countOf(body: unknown): number | undefined {
  const count = isRow(body) ? body['count'] : undefined;
  return typeof count === 'number' ? count : undefined;
}

/** The URL of a list's first page of so many records, or of its usual page if nobody chooses the size. */
export function urlOfFirst(
  list: Operation,
  path: string,
  count: number,
  query?: Readonly<Record<string, string>>,
): string {
  const size = pageParameter(list, 'size')?.name;
  const search = String(new URLSearchParams({ ...query, ...(size !== undefined && { [size]: String(count) }) }));
  return search === '' ? path : `${path}?${search}`;
}
