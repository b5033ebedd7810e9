import { type ApiDocument, follow, type Schema } from './openapi.ts';
import { isRow } from './records.ts';

/** The names by which an operation sends and answers with records, as far as they are not the usual ones. */
export interface WireNames {
  /** The member that the body stands in; undefined if it stands by itself. */
  readonly body: string | undefined;
  /** The member that the answer stands in; undefined if it stands by itself. */
  readonly answer: string | undefined;
  /** The members of a page by their usual names; null if a page has no such member. */
  readonly page: Readonly<Record<string, string | null>>;
  /** The header with the number of all records of a list, whose answer is an array; undefined if none has it. */
  readonly total: string | undefined;
}

/** The headers that can have the number of all records of a list. */
const TOTAL_HEADERS = ['X-Total-Count', 'Content-Range'];

/** Finds the header with the number of all records of a list among those that the document has. */
export function totalHeaderAmong(headers: object | undefined): string | undefined {
  return TOTAL_HEADERS.find((name) => Object.hasOwn(headers ?? {}, name));
}

/** Returns the schema of what stands in an envelope; undefined if the schema is none with this member alone. */
export function insideOf(
  document: ApiDocument,
  schema: Schema | undefined,
  envelope: string | undefined,
): Schema | undefined {
  const { properties = {} } = follow<Schema>(document, schema ?? {});
  const isAlone = envelope !== undefined && Object.keys(properties).join() === envelope;
  return isAlone ? follow<Schema>(document, properties[envelope]!) : undefined;
}

/** Gives the schema of a page its usual names. */
export function usualPage(document: ApiDocument, schema: Schema | undefined, page: WireNames['page']): Schema {
  const { properties = {}, ...others } = follow<Schema>(document, schema ?? {});
  return { ...others, properties: renamed(properties, page) as NonNullable<Schema['properties']> };
}

/** Puts a body into its envelope. A form has none. */
export function enveloped(body: unknown, { body: envelope }: WireNames): unknown {
  return envelope === undefined || body === undefined || body instanceof FormData ? body : { [envelope]: body };
}

/** Takes an answer out of its envelope, or gives a page its usual form and names. */
export function unwrapped(answer: unknown, wire: WireNames, headers?: Headers): unknown {
  const { answer: envelope, page, total } = wire;
  const count = Array.isArray(answer) && total !== undefined ? headers?.get(total)?.split('/').at(-1) : undefined;
  if (count !== undefined) return { count: Number(count), results: answer };
  if (!isRow(answer)) return answer;
  return envelope === undefined ? renamed(answer, page) : (answer[envelope] ?? answer);
}

/** Takes the envelope away from a place in a body. */
export function placeInside(pointer: string, { body }: WireNames): string {
  return body !== undefined && pointer.startsWith(`/${body}/`) ? pointer.slice(body.length + 1) : pointer;
}

function renamed(given: Readonly<Record<string, unknown>>, page: WireNames['page']): Readonly<Record<string, unknown>> {
  const usual = new Map(Object.entries(page).map(([name, memberName]) => [memberName, name]));
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [usual.get(name) ?? name, value]));
}
