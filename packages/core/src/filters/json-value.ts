import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Static, TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors/errors.ts';
import type { FieldName } from '../fields/field-name.ts';
import { fieldType } from '../fields/field-type.ts';
import { isEmbeddable } from '../fields/property.ts';
import { isRecord, textProblem } from '../support/json.ts';
import { embeddedPart, enumType, jsonPath, type JsonValueType } from '../query/language/json-path.ts';
import type { NativePath } from '../query/language/native-term.ts';
import { nearest } from '../errors/nearest.ts';
import { TEXT, wrongOption } from '../errors/options.ts';

/** The most keys of a path. */
const MAX_DEPTH = 10;

/** The value at the end of a path of keys. */
type ValueAt<Json, Path> = Path extends readonly [infer Key, ...infer Rest]
  ? Key extends keyof NonNullable<Json>
    ? ValueAt<NonNullable<Json>[Key], Rest>
    : never
  : Extract<NonNullable<Json>, string | number | boolean>;

type Keys = readonly [string, ...string[]];

/** The type of a value, from the schema of the value or of the column, or from the entity. */
type JsonTyped<Entity, Column extends keyof Entity, Path, Schema> = [Schema] extends [TSchema]
  ? Static<Schema> extends string | number | boolean
    ? Static<Schema>
    : ValueAt<Static<Schema>, Path>
  : ValueAt<Entity[Column], Path>;

/** The name of a value in JSON Logic: `data.size.width`. */
type NameOf<Column, Path> = Path extends readonly [infer Key, ...infer Rest]
  ? NameOf<`${Column & string}.${Key & string}`, Rest>
  : Column;

/** A value in a column that holds JSON, for filters. Made by `inJson()`. */
export class JsonValue<Entity, Value, Name = string> {
  /** The property that holds JSON. */
  readonly column: string;
  /** The keys from the top of the JSON to the value. */
  readonly path: readonly string[];
  /** @internal */
  readonly schema: TSchema | undefined;
  /** Only for the types. */
  declare readonly entity?: (entity: Entity) => void;
  declare readonly value?: Value;
  declare readonly logicName?: Name;

  /** @internal */
  constructor(column: string, path: readonly string[], schema: TSchema | undefined) {
    if (!TEXT[1](column)) throw wrongOption('inJson()', 'column', 'the name of a property, first', column);
    if (!isPathOfKeys(path)) throw wrongOption('inJson()', 'path', `a list of 1 to ${MAX_DEPTH} keys, second`, path);
    if (schema !== undefined && !isRecord(schema)) {
      throw wrongOption('inJson()', 'schema', 'the schema of the value or of the column, third', schema);
    }
    this.column = column;
    this.path = path;
    this.schema = schema;
  }

  /** @internal */
  pathFrom(meta: EntityMetadata): NativePath {
    const { column, path, schema } = this;
    const owner = `inJson("${column}", ${JSON.stringify(path)})`;
    const property = meta.properties[column as never] as EntityProperty | undefined;
    if (property === undefined) {
      const near = nearest(column, Object.keys(meta.properties));
      const isRelated = Object.hasOwn(meta.properties, column.split(/__|\./)[0]!) && /__|\./.test(column);
      const hint = isRelated
        ? '; it takes a column of this entity, and does not follow relations'
        : near === undefined
          ? ''
          : `; did you mean "${near}"?`;
      throw new ImproperlyConfigured(`${meta.className}: ${owner} names no property "${column}"${hint}`);
    }
    if (property.hidden === true) {
      throw new ImproperlyConfigured(
        `${meta.className}: ${owner}: "${column}" is declared hidden, so it cannot be used here`,
      );
    }
    if (!isEmbeddable(property) && fieldType(property).kind !== 'json') {
      throw new ImproperlyConfigured(`${meta.className}: ${owner}: "${column}" does not hold JSON`);
    }
    const embedded = embeddedPart(meta, column, path);
    if (embedded !== undefined) return jsonPath(meta, column, path, embedded.type, embedded.keys);
    const type = schema && typeIn(schema, path, `${meta.className}: ${owner}`);
    if (type !== undefined) return jsonPath(meta, column, path, type);
    throw new ImproperlyConfigured(
      `${meta.className}: ${owner} needs the schema of the value, third: inJson('${column}', …, Type.String())`,
    );
  }
}

function isKey(key: unknown): boolean {
  return typeof key === 'string' && textProblem(key) === undefined;
}

function isPathOfKeys(path: unknown): boolean {
  return Array.isArray(path) && path.length > 0 && path.length <= MAX_DEPTH && path.every(isKey);
}

/** Finds the type of a value by its own schema, or by the schema of the column that contains it. */
function typeIn(schema: TSchema, path: readonly string[], owner: string): JsonValueType {
  let found = notNull(schema);
  for (const [index, key] of (isObject(found) ? path : []).entries()) {
    const place = index === 0 ? 'the schema' : `"${path.slice(0, index).join('.')}"`;
    const { properties } = found as { properties?: Readonly<Record<string, TSchema>> };
    if (properties === undefined) {
      const given = JSON.stringify(found);
      throw new ImproperlyConfigured(`${owner}: ${place} must be an object with the property "${key}", got ${given}`);
    }
    const inner = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (inner === undefined) {
      const known = Object.keys(properties);
      const near = nearest(key, known);
      throw new ImproperlyConfigured(
        `${owner}: ${place} has no "${key}"${near === undefined ? '.' : `; did you mean "${near}"?`} It has: ${known.join(', ')}`,
      );
    }
    found = notNull(inner);
  }
  const type = typeOf(found);
  if (type !== undefined) return type;
  throw new ImproperlyConfigured(
    `${owner}: the schema must be of a text, number, boolean, date or enum, got ${JSON.stringify(found)}`,
  );
}

function isObject(schema: TSchema): boolean {
  return (schema as { type?: unknown }).type === 'object';
}

/** Returns what a schema says of a value that is not null. */
function notNull(schema: TSchema): TSchema {
  const { anyOf, type } = schema as { anyOf?: readonly TSchema[]; type?: unknown };
  const others = anyOf?.filter((member) => (member as { type?: unknown }).type !== 'null');
  if (others?.length === 1) return notNull(others[0]!);
  if (!Array.isArray(type)) return schema;
  const kinds = type.filter((kind) => kind !== 'null');
  return kinds.length === 1 ? { ...schema, type: kinds[0] as string } : schema;
}

function typeOf(schema: TSchema): JsonValueType | undefined {
  const facts = schema as { type?: unknown; format?: unknown; enum?: readonly unknown[]; anyOf?: readonly unknown[] };
  const literals = facts.enum ?? ('const' in facts ? [facts.const] : facts.anyOf?.map(literalOf));
  if (literals !== undefined) return enumType(literals.filter((value) => value !== null));
  if (facts.type === 'integer' || facts.type === 'number') return { kind: 'number' };
  if (facts.type === 'boolean') return { kind: 'boolean' };
  if (facts.type !== 'string' || facts.format === 'date-time' || facts.format === 'time') return undefined;
  return { kind: facts.format === 'date' ? 'date' : 'string' };
}

function literalOf(schema: unknown): unknown {
  return isRecord(schema) ? schema['const'] : undefined;
}

/**
 * Makes a filter by a value in a column that holds JSON, for a view's `filterFields`, `jsonLogicFields` and
 * `orderingFields`. `path` has the keys from the top of
 * the JSON to the value. A key may contain any character.
 *
 * The value has a type, so that numbers compare as numbers: a text, number, boolean, date (`format: 'date'`) or enum.
 * For an embeddable that one column holds, the entity declares it. For other JSON, pass the schema of the value, or of
 * the column; a path that the schema does not know is then refused.
 *
 * A record has no value (`isnull`) if a key on the path is missing, if the value is null, and if the value has another
 * type. Texts are ordered by their code points. All databases return the same records.
 *
 * Throws ImproperlyConfigured for wrong arguments. The registration of the view throws it for an unknown property or
 * path, and for a value that cannot be compared.
 *
 * @example
 * // data: p.json()
 * // filterFields: {
 * //   color: inJson('data', ['color'], Type.String()),
 * //   min_width: [inJson('data', ['size', 'width'], Type.Number()), 'gte'],
 * // }
 * // GET /products?color=red&min_width=10
 */
export function inJson<
  Entity extends object,
  const Column extends FieldName<Entity>,
  const Path extends Keys,
  Schema extends TSchema | undefined = undefined,
>(
  column: Column,
  path: Path,
  schema?: Schema,
): JsonValue<Entity, JsonTyped<Entity, Column, Path, Schema>, NameOf<Column, Path>> {
  return new JsonValue(column, path, schema);
}
