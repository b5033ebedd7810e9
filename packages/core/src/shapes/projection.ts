import type { EntityMetadata, EntityProperty, Platform } from '@mikro-orm/core';
import type { TSchema } from 'typebox';
import { atOnce } from '../awaitable.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { type FieldPath, fieldPath, isInlineEmbeddable } from '../fields/field-path.ts';
import { valueReader } from '../fields/value-reader.ts';
import type { Projection } from '../language/projection.ts';
import { entityReader, populateFor } from '../mikro/entity-reader.ts';
import { checkNested, checkReadable } from './json-types.ts';
import type { Computed, NestedField, ReadField } from './read-field.ts';
import { type Embeddable, embeddableAt, shapeField } from './shape-field.ts';
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
  const literal = plan.literal(fields, meta, '');
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

  /** Makes the source of the object that a record becomes. `prefix` is the way to its `place`, `role.`. */
  literal(fields: readonly ReadField[], place: EntityMetadata, prefix: string): string {
    const entries = fields.map((field) => `${JSON.stringify(field.name)}: ${this.#expression(field, place, prefix)}`);
    return `{ ${entries.join(', ')} }`;
  }

  #expression(field: ReadField, place: EntityMetadata, prefix: string): string {
    if (field.kind === 'column') return this.#column(field.path, field.schema, place, prefix);
    if (field.kind === 'computed') {
      const inputs = field.computed.paths.map((path) => `${JSON.stringify(path)}: v${this.#index(prefix + path)}`);
      const { compute } = field.computed;
      const who = `${this.#meta.className}: computed field "${prefix}${field.name}"`;
      const place = this.computes.push((record) => atOnce(compute(record), who)) - 1;
      return `compute[${place}]({ ${inputs.join(', ')} })`;
    }
    const { relation, fields, schema } = field;
    const embeddable = embeddableAt(place, relation);
    if (embeddable?.inline === true) return this.#embedded(embeddable, field, prefix);
    const { target, nullable } = shapeField(place, relation);
    // An object may also be what a JSON column holds.
    if (target === undefined) return this.#column(relation, schema, place, prefix);
    const name = prefix + relation;
    checkNested(this.#meta.className, { name, nullable }, schema);
    return `v${this.#index(name)} === null ? null : ${this.literal(fields, target, `${name}.`)}`;
  }

  /** Reads an embeddable. One that may be missing is missing if all of its columns are NULL, as the ORM has it. */
  #embedded(
    { meta, property, nullable }: Embeddable,
    { relation, fields, schema }: NestedField,
    prefix: string,
  ): string {
    const name = prefix + relation;
    const literal = this.literal(fields, meta, `${name}.`);
    checkNested(this.#meta.className, { name, nullable }, schema);
    if (!nullable) return literal;
    const areNull = columnsOf(property).map((column) => `v${this.#index(`${name}.${column}`)} === null`);
    return `${areNull.join(' && ')} ? null : ${literal}`;
  }

  #column(path: string, schema: TSchema, place: EntityMetadata, prefix: string): string {
    const name = prefix + path;
    const { className } = this.#meta;
    // Inside a related record its own fields count: that the record may be missing is said of the record.
    const field = { ...shapeField(this.#meta, name), nullable: shapeField(place, path).nullable };
    if (field.property.hidden === true) {
      throw new ImproperlyConfigured(`${className}: "${name}" is declared hidden, so no read shape may show it`);
    }
    checkReadable(className, field, schema);
    const index = this.#index(name);
    this.writers[index] = wireWriter(field, this.#platform);
    return this.writers[index] === undefined ? `v${index}` : `v${index} === null ? null : write[${index}](v${index})`;
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

/** Lists an embeddable's columns: `city`, or `geo.latitude` of an embeddable inside it. */
function columnsOf({ embeddedProps }: EntityProperty): string[] {
  return Object.entries<EntityProperty>(embeddedProps).flatMap(([name, property]) =>
    isInlineEmbeddable(property) ? columnsOf(property).map((inner) => `${name}.${inner}`) : [name],
  );
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
