import { type Api, type Operation, recordPathOf, type Resource } from './api-model.ts';
import { type Detail, Refusal, send } from './exchanges.ts';
import type { Schema } from './openapi.ts';
import { ifMatch } from './reading.ts';
import { type Row, textOf } from './records.ts';
import { describe, propertiesOf } from './schema.ts';
import { texts } from '../src/texts.ts';

/** The outcome of changing or deleting several records. */
export interface Outcome {
  /** The number of records that were written. */
  readonly done: number;
  /** The last refusal; undefined if there was none. */
  readonly refusal: Refusal | undefined;
  /** The words of the server about single records, by their keys. */
  readonly faults: ReadonlyMap<string, string>;
}

interface Rows {
  readonly resource: Resource;
  /** The path of the collection. */
  readonly path: string;
  readonly rows: readonly Row[];
}

/** Deletes records: together if the API has an operation for that, else one after the other. */
export function deleteRows({ resource, path, rows }: Rows): Promise<Outcome> {
  const { destroyMany, destroy, key } = resource;
  const parameter = destroyMany?.query.find(({ required }) => required === true);
  if (destroyMany === undefined || parameter === undefined) {
    return eachRow({ resource, path, rows }, (url) => send({ operation: destroy!, url }));
  }
  return together(resource, rows, parameter.schema?.maxItems, (some) => {
    const keys = some.map((row) => encodeURIComponent(textOf(row[key]))).join(',');
    return send({ operation: destroyMany, url: `${path}?${parameter.name}=${keys}` });
  });
}

/**
 * Gives one field of several records the same value: together if the API has an operation for that, else one after the other.
 *
 * @param tag is the entity tag of the one record, which is changed only if it still has this tag
 */
export function changeRows(
  { resource, path, rows }: Rows,
  name: string,
  value: unknown,
  tag?: string,
): Promise<Outcome> {
  const { updateMany, update, key } = resource;
  if (updateMany === undefined || tag !== undefined) {
    return eachRow({ resource, path, rows }, (url) =>
      send({ operation: update!, url, body: { [name]: value }, headers: ifMatch(tag) }),
    );
  }
  return together(resource, rows, updateMany.body?.schema.maxItems, (some) =>
    send({ operation: updateMany, url: path, body: some.map((row) => ({ [key]: row[key], [name]: value })) }),
  );
}

/** Returns the operation by which rows are changed; undefined if there is none. */
export function changeOf({ updateMany, update }: Resource): Operation | undefined {
  return updateMany ?? update;
}

/** The fields that records of a list can be given there. A file is one record's. */
export function changeableFields({ document }: Api, resource: Resource): [name: string, schema: Schema][] {
  const schema = changeOf(resource)?.body?.schema;
  const fields = propertiesOf(document, resource.updateMany === undefined ? schema : schema?.items);
  return fields.filter(([name, each]) => name !== resource.key && describe(document, each, name).kind !== 'file');
}

/** Returns the operation by which rows are deleted; undefined if there is none. */
export function deletionOf({ destroyMany, destroy }: Resource): Operation | undefined {
  return destroyMany ?? destroy;
}

async function together(
  { key }: Resource,
  rows: readonly Row[],
  most = rows.length,
  write: (some: readonly Row[]) => Promise<unknown>,
): Promise<Outcome> {
  for (let start = 0; start < rows.length; start += most) {
    const some = rows.slice(start, start + most);
    const refusal = await refusalOf(write(some));
    if (refusal !== undefined) return { done: start, refusal, faults: faultsOf(refusal.details, some, key) };
  }
  return { done: rows.length, refusal: undefined, faults: new Map() };
}

/** Finds the records that details speak of: `/3/price` is the fourth, and "names no record: 7" the one with this key. */
function faultsOf(details: readonly Detail[], rows: readonly Row[], key: string): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  for (const { path, message } of details) {
    const index = /^\/(\d+)(?:\/|$)/.exec(path)?.[1];
    const named = /: (.+)$/.exec(message)?.[1];
    const row = index === undefined ? rows.find((each) => textOf(each[key]) === named) : rows[Number(index)];
    if (row === undefined) continue;
    const at = textOf(row[key]);
    faults.set(at, [faults.get(at) ?? [], message].flat().join('; '));
  }
  return faults;
}

async function eachRow({ resource, path, rows }: Rows, write: (url: string) => Promise<unknown>): Promise<Outcome> {
  const faults = new Map<string, string>();
  let done = 0;
  let last: Refusal | undefined;
  for (const row of rows) {
    const key = row[resource.key];
    const url = recordPathOf(resource, path, key);
    const refusal = url === undefined ? new Refusal(404, 'no_path', texts.unnameable) : await refusalOf(write(url));
    if (refusal === undefined) {
      done++;
      continue;
    }
    last = refusal;
    faults.set(textOf(key), refusal.details.map(({ message }) => message).join('; ') || refusal.message);
    // What is wrong with one record need not be with the next; whatever else is refused once is refused again.
    if (![400, 403, 404, 409, 412, 428].includes(refusal.status)) break;
  }
  return { done, refusal: last, faults };
}

async function refusalOf(sending: Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await sending;
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
