import type { EntityMetadata } from '@mikro-orm/core';
import { keyText } from '../../fields/primary-key.ts';
import { isRecord, pointerStep } from '../../support/json.ts';
import { unnamed } from '../../http/path-template.ts';
import type { Problem } from '../../schema/scan-input.ts';
import type { BoundField } from '../../shapes/write/bound-input.ts';

/** A route of one record: the path of its collection, and the rest after the record's key. */
interface RecordRoute {
  readonly meta: EntityMetadata;
  /** The name of the field that identifies records. */
  readonly key: string;
  /** The template of the path, with the record's key as `:pk`. */
  readonly path: string;
}

/** Keys that no URL can have at the end of a path: clients resolve these segments, or drop them. */
const UNADDRESSABLE = ['', '.', '..'];

/**
 * The keys that no record may have, because the URL of the record would be the URL of something else: `summary` beside
 * `/products/:slug`, if the view has a summary. They are known once all routes are registered.
 */
export class ReservedKeys {
  readonly #byField = new Map<string, ReadonlySet<string>>();
  #ignoresCase = false;

  /**
   * Finds the reserved keys.
   *
   * @param records the routes of records
   * @param paths the templates of all paths of the application
   * @param caseSensitive false if routes match paths in any case
   */
  collect(records: readonly RecordRoute[], paths: ReadonlySet<string>, caseSensitive: boolean): void {
    this.#ignoresCase = !caseSensitive;
    const templates = [...paths].map(unnamed);
    for (const [collection, routes] of Map.groupBy(records, ({ path }) =>
      unnamed(path.slice(0, path.indexOf('/:pk'))),
    )) {
      const below = templates.filter((path) => path.startsWith(`${collection}/`));
      const tails = below.map((path) => /^([^/]*)(.*)$/s.exec(path.slice(collection.length + 1))!);
      // A path with a fixed segment hides those of a record with the same rest.
      const rests = new Set(tails.filter(([, segment]) => segment === ':').map(([, , rest]) => rest));
      const fixed = tails.filter(([, segment, rest]) => !/[:*]/.test(segment!) && rests.has(rest));
      const segments = [...UNADDRESSABLE, ...fixed.map(([, segment]) => segment!)];
      for (const { meta, key } of routes) this.#add(meta, key, segments);
    }
  }

  /** Finds the values of a body that are reserved keys, of its record and of the records that it creates along with it. */
  problemsOf(meta: EntityMetadata, fields: readonly BoundField[], values: unknown, at = ''): Problem[] {
    if (this.#byField.size === 0 || !isRecord(values)) return [];
    return fields.flatMap(({ name, path, children, reference }) => {
      const value = values[name];
      if (value === undefined || value === null) return [];
      const place = at + path;
      if (children !== undefined) {
        return eachOf(value, place).flatMap(([item, itsPlace]) =>
          this.problemsOf(children.target, children.shape.fields, item, itsPlace),
        );
      }
      if (reference === undefined) return this.problemOf(meta, name, value, place) ?? [];
      if (!reference.creates) return [];
      return eachOf(value, place).flatMap(([item, itsPlace]) => {
        return this.problemOf(reference.target, reference.key, item, itsPlace) ?? [];
      });
    });
  }

  /** Returns the problem of a field's value; undefined if the value is not reserved. */
  problemOf(meta: EntityMetadata, field: string, value: unknown, path = pointerStep(field)): Problem | undefined {
    const reserved = this.#byField.get(fieldOf(meta, field));
    if (reserved === undefined || value === undefined || value === null || typeof value === 'object') return undefined;
    const text = this.#inOneCase(keyText(value));
    if (!reserved.has(text)) return undefined;
    return { path, message: `must not be ${JSON.stringify(text)}, because the URL of the record would be another one` };
  }

  #add(meta: EntityMetadata, key: string, segments: readonly string[]): void {
    const field = fieldOf(meta, key);
    const names = segments.map((segment) => this.#inOneCase(segment));
    this.#byField.set(field, new Set([...(this.#byField.get(field) ?? []), ...names]));
  }

  #inOneCase(text: string): string {
    return this.#ignoresCase ? text.toLowerCase() : text;
  }
}

/** The classes of one inheritance share a table, so they share their keys. */
function fieldOf({ root }: EntityMetadata, field: string): string {
  return `${root.className}.${field}`;
}

/** The items of a list with their places, or one value with its place. */
function eachOf(value: unknown, place: string): (readonly [item: unknown, place: string])[] {
  return Array.isArray(value) ? value.map((item: unknown, index) => [item, `${place}/${index}`]) : [[value, place]];
}
