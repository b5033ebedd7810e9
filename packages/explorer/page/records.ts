import type { Resource } from './api-model.ts';
import { humanized } from './words.ts';

export type Row = Readonly<Record<string, unknown>>;

/** The names of fields that tell people which record it is, the best one first. */
const TITLES = ['title', 'name', 'label', 'subject', 'full_name', 'username', 'email', 'code', 'slug'];

/** Returns the items of a list's answer: of a page, or of an array; undefined if it is no list. */
export function itemsOf(body: unknown): readonly unknown[] | undefined {
  const results: unknown = isRow(body) ? body['results'] : body;
  return Array.isArray(results) ? (results as unknown[]) : undefined;
}

/** Returns the records of a list's answer. */
export function rowsOf(body: unknown): readonly Row[] {
  return itemsOf(body)?.filter(isRow) ?? [];
}

/** Tells if the answer of a list is one. */
export function isList(body: unknown): boolean {
  return itemsOf(body) !== undefined;
}

export function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the words by which people know a record; its key, if it has none. */
export function titleOf({ singular, key }: Resource, row: Row): string {
  const named = TITLES.map((name) => row[name]).find((value) => typeof value === 'string' && value.trim() !== '');
  const id = row[key];
  if (typeof named === 'string') return named;
  const kind = humanized(singular);
  return id === undefined || id === null ? kind : `${kind} ${textOf(id)}`;
}

/** Tells if the field of a name is one that people know records by. */
export function isTitle(name: string): boolean {
  return TITLES.includes(name);
}

/** Finds the name of the field by which people know a record. */
export function titleAmong(names: readonly string[]): string | undefined {
  return TITLES.find((title) => names.includes(title));
}

/** Tells if a field says something to people who know records by a title: neither its version does, nor its id. */
export function isForPeople(name: string, title: string | undefined): boolean {
  return name !== 'version' && !(name === 'id' && title !== undefined && title !== 'id');
}

/** Writes a value in one line. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
