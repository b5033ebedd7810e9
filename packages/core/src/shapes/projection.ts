import type { EntityMetadata, EntityProperty, Platform } from '@mikro-orm/core';
import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import { fieldPath, type FieldPath } from '../fields/field-path.ts';
import { valueReader } from '../fields/value-reader.ts';
import type { Projection } from '../language/projection.ts';
import type { Computed } from './computed.ts';
import { entityReader, populateFor } from './entity-value.ts';
import { checkNested, checkReadable } from './json-types.ts';
import type { NestedField, ReadField } from './read-field.ts';
import { boundField, embeddedNames, inlineEmbeddable } from './shape-field.ts';
import { wireWriter } from './wire-writer.ts';

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

  /** As the ORM has it, an embeddable that may be missing is if all of its columns are NULL. */
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
    const within = inlineEmbeddable(this.#meta, prefix.slice(0, -1))?.targetMeta?.properties as
      | Readonly<Record<string, EntityProperty>>
      | undefined;
    const nullable =
      prefix === '' ? field.nullable : (within?.[path]?.nullable ?? within === undefined) && field.ownNullable;
    checkReadable(this.#meta.className, { ...field, nullable }, schema);
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
