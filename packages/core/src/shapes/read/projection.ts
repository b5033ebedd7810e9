import type { EntityMetadata, EntityProperty, Platform } from '@mikro-orm/core';
import type { TSchema } from 'typebox';
import { requireSync } from '../../support/awaitable.ts';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { type FieldPath, fieldPath } from '../../fields/field-path.ts';
import {
  isEmbeddable,
  isInlineEmbeddable,
  isToMany,
  onlyPrimaryKey,
  targetOf,
  tyingKey,
} from '../../fields/property.ts';
import { valueReader } from '../../fields/value-reader.ts';
import { fileRouteOf } from '../../files/file-routes.ts';
import { type FileLink, isFile, type StoredFile } from '../../files/file-type.ts';
import { cachedChildren, readerOfEntity } from '../../query/language/cached-related.ts';
import { declaredOrder } from '../../fields/declared-order.ts';
import { Order, orderKey } from '../../query/language/order.ts';
import type { Children, Projection, RelatedProjection, ShapeProjection } from '../../query/language/projection.ts';
import { dependsOnRequest, isRelatedPath, pathFor } from '../../query/language/related-path.ts';
import { relationCondition } from '../../query/language/where-condition.ts';
import { populateFor } from '../../mikro/entity-reader.ts';
import { checkNullable, checkReadable } from '../json-types.ts';
import { UnfitValue } from '../../schema/unfit-value.ts';
import { knownPart } from '../known-part.ts';
import { type ManyField, type ReadField, readFieldsOf, takesRequest } from './read-field.ts';
import { objectIn } from '../schema-object.ts';
import { type Embeddable, embeddableAt, type ShapeField, shapeField, toManyAt } from '../shape-field.ts';
import { embeddableWriter, wireWriter } from '../wire-format.ts';

type Convert = (value: never) => unknown;
type Read<Output> = (values: readonly unknown[], children?: Children, request?: object) => Output;

/**
 * Compiles the function that reads records from rows and from entities. Both use the same object literal, so their
 * results cannot differ. The code is generated as source text, like TypeBox's validators and the serializers. A list
 * spends most of its time in this code, and a literal is the fastest way to make an object.
 *
 * @param shown the fields of each record, or the single value to show of it
 */
export function compileProjection<Output>(
  meta: EntityMetadata,
  platform: Platform,
  fields: readonly ReadField[] | ReadField,
): ShapeProjection<Output> {
  const plan = new Plan(meta, platform);
  const literal = 'schema' in fields ? plan.expression(fields, meta, '') : plan.literal(fields, meta, '');
  const { paths, related } = plan;
  const columnReaders = paths.map((path) => valueReader(path, platform));
  const ofValues = generate<Output>(literal, plan, [], meta);
  const ofRow = generate<Output>(literal, plan, columnReaders, meta);
  const populate = [...new Set(paths.flatMap(populateFor))];
  const readers = paths.map(readerOfEntity);
  const projectionFor = (request: object | undefined, shown: readonly RelatedProjection[]): Projection<Output> => {
    const isPerRequest = request !== undefined && paths.some(dependsOnRequest);
    const read = isPerRequest ? paths.map((path) => pathFor(path, request)) : paths;
    const aggregates = read.filter(isRelatedPath);
    const entityReaders = isPerRequest ? read.map(readerOfEntity) : readers;
    return {
      paths: read,
      ...(shown.length > 0 && { related: shown }),
      ...(aggregates.length > 0 && { aggregates }),
      readRow: request === undefined ? ofRow : (row, children) => ofRow(row, children, request),
      readEntity: (entity) =>
        ofValues(
          entityReaders.map((readPath) => readPath(entity)),
          cachedChildren(shown, entity),
          request,
        ),
      populate,
    };
  };
  const projection = projectionFor(undefined, related);
  const isForAll = !plan.takesRequest && !paths.some(dependsOnRequest);
  if (isForAll && related.every((one) => one.projection.forRequest === undefined)) return projection;
  return {
    ...projection,
    forRequest: (request) =>
      projectionFor(
        request,
        related.map((one) => bindToRequest(one, request)),
      ),
  };
}

function bindToRequest(related: RelatedProjection, request: object): RelatedProjection {
  return { ...related, projection: related.projection.forRequest?.(request) ?? related.projection };
}

/** A related record or an embeddable, and the columns that are all NULL if it is missing. */
interface ObjectAt extends Pick<ShapeField, 'nullable' | 'isNullAssumed'> {
  readonly meta: EntityMetadata;
  readonly columns: readonly string[];
}

/** The columns that a record needs, without duplicates, and how their values are converted. */
class Plan {
  readonly paths: FieldPath[] = [];
  readonly related: RelatedProjection[] = [];
  readonly writers: (Convert | undefined)[] = [];
  readonly computes: ((record: never, request: object | undefined) => unknown)[] = [];
  /** True if a computed field needs the request. */
  takesRequest = false;
  readonly #meta: EntityMetadata;
  readonly #platform: Platform;
  readonly #indexes = new Map<string, number>();

  constructor(meta: EntityMetadata, platform: Platform) {
    this.#meta = meta;
    this.#platform = platform;
  }

  /** Makes the source of a record's object. `prefix` is the path to its `place`, `role.`. */
  literal(fields: readonly ReadField[], place: EntityMetadata, prefix: string): string {
    const entries = fields.map((field) => `${JSON.stringify(field.name)}: ${this.expression(field, place, prefix)}`);
    return `{ ${entries.join(', ')} }`;
  }

  /** Makes the source of a field's value. */
  expression(field: ReadField, place: EntityMetadata, prefix: string): string {
    const { path, schema, fields, computed, relatedValue, many = arrayOf(place, field) } = field;
    if (relatedValue !== undefined) return `v${this.paths.push(relatedValue.pathFrom(this.#meta, prefix)) - 1}`;
    if (many !== undefined) return this.#children(path, many, place, prefix);
    if (computed !== undefined) {
      const inputs = computed.paths.map((input) => `${JSON.stringify(input)}: v${this.#index(prefix + input)}`);
      const { compute } = computed;
      const who = (): string => `${this.#meta.className}: computed field "${prefix}${field.name}"`;
      if (!takesRequest(computed)) {
        const index = this.computes.push((record) => requireSync(compute(record, undefined as never), who)) - 1;
        return `compute[${index}]({ ${inputs.join(', ')} })`;
      }
      this.takesRequest = true;
      const index = this.computes.push((record, request) => {
        if (request === undefined) throw new TypeError(`${who()} needs the request, but the call did not pass it`);
        return requireSync(compute(record, request as never), who);
      });
      return `compute[${index - 1}]({ ${inputs.join(', ')} }, request)`;
    }
    const object = fields && this.#objectAt(place, path, prefix);
    // A JSON column may also hold an object.
    if (object === undefined) return this.#column(field, place, prefix);
    const name = prefix + path;
    checkNullable(this.#meta.className, { ...object, name }, schema);
    const literal = this.literal(fields as readonly ReadField[], object.meta, `${name}.`);
    const areNull = object.columns.map((column) => `v${this.#index(column)} === null`);
    return areNull.length === 0 ? literal : `${areNull.join(' && ')} ? null : ${literal}`;
  }

  /** Finds the related record or embeddable at a path, and the columns that are all NULL if it is missing. */
  #objectAt(place: EntityMetadata, path: string, prefix: string): ObjectAt | undefined {
    const name = prefix + path;
    const embeddable = embeddableAt(place, path);
    if (embeddable?.inline !== true) {
      const { target, nullable, isNullAssumed } = shapeField(place, path);
      return target && { meta: target, nullable, isNullAssumed, columns: [name] };
    }
    const { meta, nullable } = embeddable;
    const columns = nullable ? columnsOf((embeddableAt(this.#meta, name) as Embeddable).property) : [];
    return { meta, nullable, isNullAssumed: false, columns: columns.map((column) => `${name}.${column}`) };
  }

  #column({ path, schema, known, fields, byHand = false }: ReadField, place: EntityMetadata, prefix: string): string {
    const name = prefix + path;
    const { className } = this.#meta;
    // Inside a related record, use the nullability of its own field. The record's own schema says that the record may
    // be missing.
    const field = { ...shapeField(place, path), name };
    if (field.property.hidden === true) throw declaredHidden(this.#meta, name);
    checkParts(this.#meta, field.property, fields, name);
    if (isFile(field.property)) return this.#link(field, place);
    checkReadable(className, field, schema);
    const index = this.#index(name);
    const absent = known === undefined && !byHand ? 'null' : 'nothing';
    this.writers[index] = isEmbeddable(field.property)
      ? embeddableWriter(field.property, this.#platform, absent)
      : wireWriter(field, this.#platform);
    const value = `v${index}`;
    const written = this.writers[index] === undefined ? value : `${value} === null ? null : write[${index}](${value})`;
    const isChecked = byHand && field.type.kind === 'json';
    const checked = isChecked ? knownPart(place.className, path, schema) : known;
    if (checked === undefined) return written;
    const shown = `compute[${this.computes.push(checked) - 1}](${written})`;
    // A column that is never NULL may still hold JSON null, which its schema must allow.
    return field.nullable ? `${value} === null ? null : ${shown}` : shown;
  }

  #children(path: string, { shown, orderBy, limit }: ManyField, place: EntityMetadata, prefix: string): string {
    const { property, target } = toManyAt(place, path);
    if (property.hidden === true) throw declaredHidden(this.#meta, prefix + path);
    const owner = this.paths[this.#index(prefix + tyingKey(place, property).name)] as FieldPath;
    const names = orderBy.length > 0 ? orderBy : declaredOrder(property, target);
    const order = new Order(
      target,
      names.map((name) => orderKey(target, name)),
    );
    const index = this.related.push({
      relation: property,
      ownerMeta: place,
      owner,
      readKey: valueReader(owner, this.#platform),
      query: { meta: target, condition: relationCondition(property), order, author: 'view' },
      asAdded: orderBy.length === 0 && property.fixedOrder === true,
      limit,
      projection: compileProjection(target, this.#platform, shown),
    });
    return `children[${index - 1}]`;
  }

  /** Makes a file's link from the stored file and from the keys that identify the record in the link's path. */
  #link({ name, property }: ShapeField, place: EntityMetadata): string {
    const { keys, pathOf } = fileRouteOf(place.className, property);
    const owner = name.slice(0, -property.name.length);
    const link = (values: readonly [StoredFile, ...unknown[]]): FileLink => {
      const [{ name: fileName, size, type }, ...named] = values;
      return { url: pathOf(named), name: fileName, size, type };
    };
    const index = this.computes.push(link) - 1;
    const [value, ...named] = [name, ...keys.map((key) => owner + key)].map((path) => `v${this.#index(path)}`);
    return `${value} === null ? null : compute[${index}]([${[value, ...named].join(', ')}])`;
  }

  #index(key: string): number {
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const path = fieldPath(this.#meta, key, '.');
    if (path.toMany) {
      throw new ImproperlyConfigured(
        `${this.#meta.className}: "${key}" leads to many records; show them by many() in a readShape()`,
      );
    }
    const index = this.paths.push(path) - 1;
    this.#indexes.set(key, index);
    return index;
  }
}

/** Reads a hand-written schema of a to-many relation: an array of objects, or of primary keys. */
function arrayOf(place: EntityMetadata, { path, schema, computed, relatedValue }: ReadField): ManyField | undefined {
  const property = place.properties[path as never] as EntityProperty | undefined;
  if (computed !== undefined || relatedValue !== undefined || property === undefined || !isToMany(property)) {
    return undefined;
  }
  const { items } = schema as { readonly items?: TSchema };
  const target = targetOf(property) as EntityMetadata;
  const key = onlyPrimaryKey(target)?.name ?? '';
  if (items === undefined) {
    throw new ImproperlyConfigured(
      `${place.className}.${path} leads to many records: its schema must be a Type.Array()`,
    );
  }
  const object = objectIn(items);
  const shown = object === undefined ? { name: key, path: key, schema: items } : readFieldsOf(object);
  return { shown, orderBy: [], limit: undefined };
}

/** @throws ImproperlyConfigured if a shape names a hidden part of an embeddable in a JSON column */
function checkParts(
  meta: EntityMetadata,
  property: EntityProperty,
  fields: readonly ReadField[] = [],
  prefix: string,
): void {
  if (!isEmbeddable(property)) return;
  for (const { path, fields: inner } of fields) {
    const part: EntityProperty | undefined = targetOf(property)?.properties[path as never];
    if (part === undefined) continue;
    const name = `${prefix}.${path}`;
    if (part.hidden === true) throw declaredHidden(meta, name);
    checkParts(meta, part, inner, name);
  }
}

function declaredHidden({ className }: EntityMetadata, name: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`${className}: "${name}" is declared hidden, so no read shape may show it`);
}

/** Lists an embeddable's columns: `city`, or `geo.latitude` for a nested embeddable. */
function columnsOf({ embeddedProps }: EntityProperty): string[] {
  return Object.entries<EntityProperty>(embeddedProps).flatMap(([name, property]) =>
    isInlineEmbeddable(property) ? columnsOf(property).map((inner) => `${name}.${inner}`) : [name],
  );
}

/** Makes the function that converts the values of columns, with a reader if there is one, and returns the record. */
function generate<Output>(
  literal: string,
  { paths, writers, computes }: Plan,
  readers: readonly (Convert | undefined)[],
  meta: EntityMetadata,
): Read<Output> {
  const variables = paths.map((_, index) => {
    const value = `values[${index}]`;
    const read = readers[index] === undefined ? value : `${value} === null ? null : read[${index}](${value})`;
    return `const v${index} = ${read};`;
  });
  const body = `try { ${variables.join(' ')} return ${literal}; } catch (error) { throw named(error, values); }`;
  const code = `'use strict'; return (values, children, request) => { ${body} };`;
  // The text contains only indexes, and names of fields as JSON strings. Nothing in it comes from a request.
  // oxlint-disable-next-line typescript/no-implied-eval
  const make = new Function('read', 'write', 'compute', 'named', code) as (
    ...parts: readonly unknown[]
  ) => Read<Output>;
  const named = (error: unknown, values: readonly unknown[]): unknown =>
    namedError(error, { meta, paths, readers, writers }, values);
  return make(readers, writers, computes, named);
}

function isKey({ steps, property }: FieldPath): boolean {
  return steps.length === 0 && property.primary === true;
}

/** The columns of a record, with the functions that convert their values. */
interface Columns {
  readonly meta: EntityMetadata;
  readonly paths: readonly FieldPath[];
  readonly readers: readonly (Convert | undefined)[];
  readonly writers: readonly (Convert | undefined)[];
}

/**
 * Names the record and the property in an error about a stored value: its column cannot be read, or its content does
 * not fit the schema. Returns any other error unchanged.
 */
function namedError(error: unknown, { meta, paths, readers, writers }: Columns, values: readonly unknown[]): unknown {
  const written = paths.map((_, index) => {
    const read = readers[index] ?? asItIs;
    const write = writers[index] ?? asItIs;
    try {
      return { value: values[index] === null ? null : write(read(values[index] as never) as never) };
    } catch (cause) {
      return { cause };
    }
  });
  const keys = written.filter((_, index) => isKey(paths[index]!)).map(({ value }) => String(value));
  const record = { entity: meta.className, key: keys.length === 0 ? undefined : keys.join(', ') };
  const wrong = written.findIndex((one) => 'cause' in one);
  if (wrong === -1) return error instanceof UnfitValue ? new UnfitValue(error.problems, record) : error;
  const path = `/${paths[wrong]!.key.replaceAll('.', '/')}`;
  return new UnfitValue([{ path, message: 'cannot be read from its column' }], record, written[wrong]!.cause);
}

function asItIs(value: unknown): unknown {
  return value;
}
