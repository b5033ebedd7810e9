import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { FieldKind, FieldType } from '../../fields/field-kind.ts';
import { fieldType } from '../../fields/field-type.ts';
import { isEmbeddable, isInlineEmbeddable, targetOf } from '../../fields/property.ts';
import type { NativePath, NativeTerm } from './native-term.ts';

/** The kinds of values in JSON that a filter can compare. */
const JSON_KINDS = ['string', 'number', 'boolean', 'date', 'enum'] as const satisfies readonly FieldKind[];

/** The type of a value in JSON. */
export type JsonValueType = FieldType & { readonly kind: (typeof JSON_KINDS)[number] };

type Stored = 'text' | 'number' | 'boolean';

/** How databases name and read the values of a JSON type. */
const STORED: Readonly<
  Record<Stored, { sqlite: string; postgresql: string; cast: string; document: readonly string[]; column: string }>
> = {
  text: { sqlite: "'text'", postgresql: 'string', cast: '', document: ['string'], column: 'text' },
  number: {
    sqlite: "'integer', 'real'",
    postgresql: 'number',
    cast: '::numeric',
    document: ['int', 'long', 'double', 'decimal'],
    column: 'numeric',
  },
  boolean: {
    sqlite: "'true', 'false'",
    postgresql: 'boolean',
    cast: '::boolean',
    document: ['bool'],
    column: 'boolean',
  },
};

function storedAs({ kind, values = [] }: JsonValueType): Stored {
  if (kind === 'enum') return typeof values[0] === 'number' ? 'number' : 'text';
  return kind === 'number' || kind === 'boolean' ? kind : 'text';
}

/**
 * Makes a path to a value in a column that holds JSON. It is NULL for a record without the value, and for a value of
 * another type.
 *
 * @param column the property that holds JSON
 * @param names the names from the top of the JSON to the value
 * @param keys the keys by which the JSON has them, if an entity stores its properties under other keys
 */
export function jsonPath(
  meta: EntityMetadata,
  column: string,
  names: readonly string[],
  type: JsonValueType,
  keys: readonly string[] = names,
): NativePath {
  const field = fieldOf(meta, column);
  const key = [column, ...names].join('.');
  const stored = storedAs(type);
  const property = {
    name: key,
    kind: ReferenceKind.SCALAR,
    type: STORED[stored].column,
    columnTypes: [STORED[stored].column],
    fieldNames: [],
    persist: false,
  } as unknown as EntityProperty;
  const term: NativeTerm = {
    name: key,
    sql: ({ alias, value, database }) => {
      const from = `${alias}."${field.replaceAll('"', '""')}"`;
      return database === 'PostgreSQL'
        ? inPostgreSql(from, keys.length, value, stored)
        : inSqlite(from, keys.length, value, stored);
    },
    document: (...path) => inDocument(field, path as string[], stored),
  };
  const path: NativePath = {
    key,
    steps: [],
    property,
    type,
    nullable: true,
    toMany: false,
    native: { term, values: keys },
    inJson: { column, names },
  };
  return Object.freeze(path);
}

function fieldOf({ className, properties }: EntityMetadata, column: string): string {
  const [field, ...others] = (properties[column as never] as EntityProperty | undefined)?.fieldNames ?? [];
  if (field !== undefined && others.length === 0) return field;
  throw new ImproperlyConfigured(`${className}: "${column}" is not kept in one column`);
}

/** A key is compared, not written into a path, because a path cannot escape a quotation mark. */
function inSqlite(column: string, depth: number, value: string, stored: Stored): string {
  const sources = Array.from({ length: depth }, (_, index) => {
    const object =
      index === 0
        ? `case when json_valid(${column}) then case json_type(${column}) when 'object' then ${column} end end`
        : `case j${index - 1}.type when 'object' then j${index - 1}.value end`;
    return `json_each(${object}) j${index}`;
  });
  const keys = sources.map((_, index) => `j${index}.key = ${value}`);
  const last = `j${depth - 1}`;
  return `select ${last}.value from ${sources.join(', ')} where ${keys.join(' and ')} and ${last}.type in (${STORED[stored].sqlite})`;
}

/** Texts are compared by their characters, whatever the collation of the database is. */
function inPostgreSql(column: string, depth: number, value: string, stored: Stored): string {
  const { postgresql, cast } = STORED[stored];
  const steps = ` -> ${value}::text`.repeat(depth);
  const text = stored === 'text' ? ' collate "C"' : '';
  return `(select case jsonb_typeof(j.x) when '${postgresql}' then (j.x #>> '{}')${cast} end from (select ${column}::jsonb${steps} as x) j)${text}`;
}

function inDocument(field: string, names: readonly string[], stored: Stored): object {
  let found: unknown = `$${field}`;
  for (const name of names) {
    const inner = { $getField: { field: { $literal: name }, input: '$$object' } };
    const isObject = { $eq: [{ $type: '$$object' }, 'object'] };
    found = { $let: { vars: { object: found }, in: { $cond: [isObject, inner, null] } } };
  }
  const isStored = { $in: [{ $type: '$$found' }, STORED[stored].document] };
  return { $let: { vars: { found }, in: { $cond: [isStored, '$$found', null] } } };
}

/** A part of an embeddable that one column holds: its type, and the keys that lead to it in the column. */
export interface EmbeddedPart {
  readonly type: JsonValueType;
  readonly keys: readonly string[];
}

/**
 * Finds a part of an embeddable that one column holds. Undefined for another column.
 *
 * @throws ImproperlyConfigured for a part that the embeddable does not have, and for one whose values cannot be compared
 */
export function embeddedPart(meta: EntityMetadata, column: string, names: readonly string[]): EmbeddedPart | undefined {
  const property = meta.properties[column as never] as EntityProperty | undefined;
  if (property === undefined || !isEmbeddable(property) || isInlineEmbeddable(property)) return undefined;
  let owner: EntityProperty = property;
  const keys: string[] = [];
  for (const name of names) {
    const target = isEmbeddable(owner) && owner.array !== true ? targetOf(owner) : undefined;
    const part: EntityProperty | undefined = owner.embeddedProps?.[name] ?? target?.properties[name as never];
    if (part === undefined) {
      const known =
        target === undefined ? '' : `; ${target.className} has: ${Object.keys(target.properties).join(', ')}`;
      throw new ImproperlyConfigured(`${meta.className}.${column} has no "${names.join('.')}"${known}`);
    }
    if (part.hidden === true) {
      throw new ImproperlyConfigured(
        `${meta.className}.${column}: "${names.join('.')}" is declared hidden, so it cannot be used here`,
      );
    }
    owner = part;
    keys.push(keyOf(part, name));
  }
  const type = isEmbeddable(owner) ? undefined : comparedType(fieldType(owner));
  if (type !== undefined && owner.array !== true) return { type, keys };
  throw new ImproperlyConfigured(
    `${meta.className}.${column}: "${names.join('.')}" is not a text, number, boolean, date or enum, so JSON values of it cannot be compared`,
  );
}

/** Returns the key of a part in the JSON that MikroORM stores. */
function keyOf(part: EntityProperty, name: string): string {
  return part.fieldNames?.[0] ?? name;
}

function comparedType({ kind, values }: FieldType): JsonValueType | undefined {
  if (kind === 'integer' || kind === 'number') return { kind: 'number' };
  if (kind === 'uuid') return { kind: 'string' };
  if (kind === 'enum') return enumType(values ?? []);
  return kind === 'string' || kind === 'boolean' || kind === 'date' ? { kind } : undefined;
}

/** Returns the type of an enum whose values all are texts, or all are numbers. */
export function enumType(values: readonly unknown[]): JsonValueType | undefined {
  const [type, ...others] = new Set(values.map((value) => typeof value));
  if (others.length > 0 || (type !== 'string' && type !== 'number')) return undefined;
  return { kind: 'enum', values: values as readonly (string | number)[] };
}
