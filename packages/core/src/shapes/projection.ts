import {
  type EntityMetadata,
  type EntityProperty,
  type Platform,
  Reference,
  ReferenceKind,
  ScalarReference,
  helper,
} from '@mikro-orm/core';
import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import { type FieldPath, fieldPath } from '../fields/field-path.ts';
import { sendable, valueReader } from '../fields/value-reader.ts';
import type { Projection } from '../language/projection.ts';
import { checkNested, checkReadable } from './json-types.ts';
import type { Computed, NestedField, ReadField } from './read-field.ts';
import { boundField, embeddedNames, inlineEmbeddable, type ShapeField } from './shape-field.ts';
import { wireWriter } from './wire-format.ts';

type Convert = (value: never) => unknown;

/**
 * Compiles the reading of records: one function for rows, one for entities, both around the same object literal, so that
 * they cannot differ. The functions are generated as source text, as TypeBox's and the serializer's are: a list spends most
 * of its own time here, and a literal is the fastest way to make an object.
 */
export function compileProjection<Output>(
  meta: EntityMetadata,
  platform: Platform,
  fields: readonly ReadField[],
): Projection<Output> {
  const plan = new Plan(meta, platform);
  const literal = plan.literal(fields, '');
  const { paths } = plan;
  const readers = paths.map((path) => valueReader(path, platform));
  const fromRow = paths.map((_, index) => {
    const value = `row[${index}]`;
    return readers[index] === undefined ? value : `${value} === null ? null : read[${index}](${value})`;
  });
  const fromEntity = paths.map((_, index) => `read[${index}](entity)`);
  let readEntity: ((entity: object) => unknown) | undefined;
  return {
    paths,
    readRow: generate('row', fromRow, literal, plan, readers) as (row: readonly unknown[]) => Output,
    // Most views never have an entity to read.
    readEntity: (entity) =>
      (readEntity ??= generate('entity', fromEntity, literal, plan, paths.map(entityReader)))(entity) as Output,
    populate: [...new Set(paths.flatMap(populateFor))],
  };
}

/** The columns that a record takes, each once, and what is done with their values. */
class Plan {
  readonly paths: FieldPath[] = [];
  readonly writers: (Convert | undefined)[] = [];
  readonly computes: Computed<unknown>['compute'][] = [];
  readonly #meta: EntityMetadata;
  readonly #platform: Platform;
  readonly #indexes = new Map<string, number>();

  constructor(meta: EntityMetadata, platform: Platform) {
    this.#meta = meta;
    this.#platform = platform;
  }

  /** The source of the object that a record becomes. `prefix` is the relation that it stands in, `role.`. */
  literal(fields: readonly ReadField[], prefix: string): string {
    return `{ ${fields.map((field) => `${JSON.stringify(field.name)}: ${this.#expression(field, prefix)}`).join(', ')} }`;
  }

  #expression(field: ReadField, prefix: string): string {
    if (field.kind === 'column') return this.#column(field.path, field.schema, prefix);
    if (field.kind === 'computed') {
      const inputs = field.computed.paths.map((path) => `${JSON.stringify(path)}: v${this.#index(prefix + path)}`);
      return `compute[${this.computes.push(field.computed.compute) - 1}]({ ${inputs.join(', ')} })`;
    }
    const embeddable = inlineEmbeddable(this.#meta, prefix + field.relation);
    if (embeddable !== undefined) return this.#embedded(embeddable, field, prefix);
    const relation = boundField(this.#meta, prefix + field.relation);
    // An object may also be what a JSON column holds.
    if (relation.target === undefined) return this.#column(field.relation, field.schema, prefix);
    checkNested(this.#meta.className, { ...relation, nullable: relation.ownNullable }, field.schema);
    return `v${this.#index(relation.name)} === null ? null : ${this.literal(field.fields, `${relation.name}.`)}`;
  }

  /** Reads an embeddable. One that may be missing is missing if all of its columns are NULL, as the ORM has it. */
  #embedded(embeddable: EntityProperty, { relation, fields, schema }: NestedField, prefix: string): string {
    const name = prefix + relation;
    const columns = embeddedNames(embeddable).map((column) => boundField(this.#meta, `${name}.${column}`));
    const literal = this.literal(fields, `${name}.`);
    if (!columns.every(({ nullable }) => nullable)) return literal;
    const isNullable = embeddable.nullable === true || (prefix === '' && relation.includes('.'));
    checkNested(this.#meta.className, { name, nullable: isNullable }, schema);
    if (!isNullable) return literal;
    return `${columns.map((column) => `v${this.#index(column.name)} === null`).join(' && ')} ? null : ${literal}`;
  }

  #column(path: string, schema: TSchema, prefix: string): string {
    const field = boundField(this.#meta, prefix + path);
    if (field.property.hidden === true) {
      throw new ImproperlyConfigured(
        `${this.#meta.className}: "${field.name}" is declared hidden, so no read shape may show it`,
      );
    }
    const index = this.#index(field.name);
    // Inside a related record its own fields count: that the record may be missing is said of the record.
    const nullable = prefix === '' ? field.nullable : this.#isNullableWithin(prefix.slice(0, -1), path, field);
    checkReadable(this.#meta.className, { ...field, nullable }, schema);
    this.writers[index] = wireWriter(field, this.#platform);
    return this.writers[index] === undefined ? `v${index}` : `v${index} === null ? null : write[${index}](v${index})`;
  }

  /** Asks an embeddable itself: the columns of one that may be missing are all nullable, its properties are not. */
  #isNullableWithin(place: string, name: string, { ownNullable }: ShapeField): boolean {
    const properties = inlineEmbeddable(this.#meta, place)?.targetMeta?.properties;
    if (properties === undefined) return ownNullable;
    return (properties[name as never] as EntityProperty | undefined)?.nullable === true;
  }

  #index(key: string): number {
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const path = fieldPath(this.#meta, key, '.');
    if (path.toMany) {
      throw new ImproperlyConfigured(
        `${this.#meta.className}: "${key}" leads to many records, which a read shape cannot hold`,
      );
    }
    const index = this.paths.push(path) - 1;
    this.#indexes.set(key, index);
    return index;
  }
}

/** Makes the function that takes a row or an entity, the `source`, and answers with the record. */
function generate(
  source: string,
  values: readonly string[],
  literal: string,
  { writers, computes }: Plan,
  read: readonly (Convert | undefined)[],
): (source: object) => unknown {
  const variables = values.map((value, index) => `const v${index} = ${value};`);
  const code = `'use strict'; return (${source}) => { ${variables.join(' ')} return ${literal}; };`;
  // The text holds indexes and the names of fields as JSON strings, nothing that a request could reach.
  // oxlint-disable-next-line typescript/no-implied-eval
  const make = new Function('read', 'write', 'compute', code) as (
    ...parts: readonly unknown[]
  ) => (source: object) => unknown;
  return make(read, writers, computes);
}

/**
 * Reads what a path leads to from an entity that is loaded: null where there is nothing on the way, the primary key of
 * a relation at the end.
 *
 * @throws Error, when called, where a relation on the way is not loaded: a missing value must not pass for null
 */
export function entityReader(path: FieldPath): (entity: object) => unknown {
  const steps = path.steps.map(({ name }) => name);
  const { primary = false, lazy = false } = path.property;
  const names = namesAfter(path);
  const isRelation = path.property.targetMeta !== undefined && path.property.embeddable === undefined;
  return (entity) => {
    let current: object = entity;
    for (const step of steps) {
      const next = related(current, step);
      if (next === null) return null;
      current = next;
    }
    if (!primary && !helper(current)?.isInitialized()) throw notLoaded(path.key, steps.join('.'));
    let value: unknown = current;
    for (const name of names) value = (value as Values | null | undefined)?.[name];
    if (lazy && value === undefined) throw notLoaded(path.key, path.key);
    return isRelation ? keyOf(value) : scalar(value, path.key);
  };
}

/**
 * Lists what must be loaded for `entityReader`: the relations on the way, but for one whose key is all that is asked, and the
 * column itself where it is lazy.
 */
export function populateFor({ key, steps, property }: FieldPath): string[] {
  const last = steps.at(-1);
  const isKeyHeld = property.primary === true && (last?.kind === ReferenceKind.MANY_TO_ONE || last?.owner === true);
  const needed = isKeyHeld ? steps.slice(0, -1) : steps;
  const relations = needed.map((_, index) =>
    needed
      .slice(0, index + 1)
      .map(({ name }) => name)
      .join('.'),
  );
  return property.lazy === true ? [...relations, key] : relations;
}

/**
 * Lists the names to walk in the last entity: one name, or several into an embeddable. None is left where the key of a relation
 * without a column of its own is asked for (the other side of a one to one), which is the last entity's own.
 */
function namesAfter({ key, steps, property }: FieldPath): string[] {
  const names = key.split('.').slice(steps.length);
  return names.length === 0 ? [property.name] : names;
}

type Values = Readonly<Record<string, unknown>>;

function related(entity: object, name: string): object | null {
  const value = (entity as Values)[name] as object | null | undefined;
  return value === null || value === undefined ? null : Reference.unwrapReference(value);
}

function keyOf(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  // A relation that is mapped to its key holds the key itself.
  if (typeof value !== 'object') return value;
  const entity = Reference.unwrapReference(value);
  return helper(entity)?.getPrimaryKey() ?? value;
}

function scalar(value: unknown, key: string): unknown {
  if (typeof value === 'number') return sendable(value);
  if (!(value instanceof ScalarReference)) return value ?? null;
  if (!value.isInitialized()) throw notLoaded(key, key);
  return value.unwrap() ?? null;
}

function notLoaded(path: string, needed: string): Error {
  return new Error(`"${path}" cannot be read from the entity: "${needed}" is not loaded; populate it`);
}
