import type { Operation } from './api-model.ts';
import { type Answer, send } from './exchanges.ts';
import { isRow, type Row } from './records.ts';

/** A record as it was read. */
export interface Reading {
  readonly row: Row;
  /** Undefined if it has no entity tag. */
  readonly tag: string | undefined;
}

/** Reads a record with its entity tag. Throws Refusal. */
export async function readRecord(retrieve: Operation, url: string): Promise<Reading> {
  return readingOf(await send({ operation: retrieve, url }));
}

/** The record that an answer has; `otherwise` if it has none. */
export function readingOf({ body, headers }: Answer, otherwise: Row = {}): Reading {
  return { row: isRow(body) ? body : otherwise, tag: headers.get('etag') ?? undefined };
}

/** The condition that nobody has changed the record; none if it has no tag by which to tell. */
export function ifMatch(tag: string | undefined): Readonly<Record<string, string>> {
  return tag === undefined || tag.startsWith('W/') ? {} : { 'if-match': tag };
}
