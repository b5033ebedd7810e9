import { type EntityMetadata, Reference, Utils, wrap } from '@mikro-orm/core';
import { type FieldKind, fieldPath, type FieldType } from '@viewset/core';
import { onWire } from '../bodies.ts';

/** A field's value in a form that can be compared and ordered. */
export type Comparable = string | number | boolean | null;

/** A field of an entity's records, with its path through relations. */
export class ComparedField {
  readonly type: FieldType;
  readonly toMany: boolean;
  /** The path of relations to load; empty if the field is the entity's own. */
  readonly populate: string;
  /** The entity's own column for the field; undefined for relations, and for fields of related records. */
  readonly column: string | undefined;
  readonly #names: readonly string[];

  private constructor(meta: EntityMetadata, path: string) {
    const { type, toMany, steps, property } = fieldPath(meta, path, '.');
    const isRelation = property.targetMeta !== undefined;
    const isColumn = meta.properties[path as never] === property && !isRelation && property.primary !== true;
    this.type = type;
    this.toMany = toMany;
    this.populate = steps.map(({ name }) => name).join('.');
    this.column = isColumn && property.version !== true && property.persist !== false ? path : undefined;
    this.#names = path.split('.');
  }

  /** Resolves a path; undefined if no column holds the value, as for `count()`. */
  static find(meta: EntityMetadata, path: string): ComparedField | undefined {
    try {
      return new ComparedField(meta, path);
    } catch {
      return undefined;
    }
  }

  /** Returns a record's values: one, or several if the path goes through a to-many relation. */
  valuesOf(record: object): Comparable[] {
    let found: unknown[] = [record];
    for (const name of this.#names) found = found.flatMap((each) => membersOf(each, name));
    return found.map((each) => this.#comparable(Utils.isEntity(each) ? wrap(each, true).getPrimaryKey() : each));
  }

  /** Formats a value for a query string. */
  textOf(value: Comparable): string {
    return this.type.kind === 'datetime' ? new Date(value as number).toISOString() : String(value);
  }

  /** True if JavaScript and all databases order the values the same way. */
  get isOrdered(): boolean {
    return ORDERED.has(this.type.kind);
  }

  #comparable(value: unknown): Comparable {
    const { kind } = this.type;
    if (value === null || value === undefined) return null;
    if (kind === 'datetime' || NUMBERS.has(kind)) return Number(value);
    if (kind === 'boolean') return Boolean(value);
    const text = String(onWire(value));
    return kind === 'date' ? text.slice(0, 10) : text;
  }
}

const NUMBERS: ReadonlySet<FieldKind> = new Set<FieldKind>(['integer', 'bigint', 'number', 'decimal']);
const ORDERED: ReadonlySet<FieldKind> = new Set<FieldKind>([...NUMBERS, 'datetime', 'date', 'time']);

function membersOf(owner: unknown, name: string): unknown[] {
  if (owner === null || owner === undefined) return [null];
  const value = Reference.unwrapReference((owner as Readonly<Record<string, object>>)[name]!) as unknown;
  return Utils.isCollection(value) ? value.getItems() : [value];
}
