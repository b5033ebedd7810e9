import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { fieldPath, ImproperlyConfigured, type TextSearch } from '@viewset/core';
import type { FullTextLanguage } from './languages.ts';

/** A declared field to search. */
export interface WeightedField {
  readonly name: string;
  readonly weight: number;
}

/** The checked arguments of `fullText()`. */
export interface Declaration {
  readonly fields: readonly WeightedField[];
  readonly language: FullTextLanguage;
  readonly name: string;
}

/** A search made by `fullText()`. */
export interface FullTextSearch<Entity = unknown> extends TextSearch<Entity> {
  /** @internal */
  readonly declaration: Declaration;
}

/** A field with its column. */
export interface SearchedColumn extends WeightedField {
  readonly column: string;
}

/** The search of one entity, with everything that determines its index. */
export interface Definition {
  readonly meta: EntityMetadata;
  /** The schema of the table; undefined for the database's default schema. */
  readonly schema: string | undefined;
  readonly columns: readonly SearchedColumn[];
  readonly language: FullTextLanguage;
  readonly name: string;
}

/**
 * Resolves the columns of a declaration.
 *
 * @throws ImproperlyConfigured for a field that is not a text column of the entity itself
 */
export function defineSearch(
  em: EntityManager,
  meta: EntityMetadata,
  { fields, language, name }: Declaration,
): Definition {
  if (meta.view === true) {
    throw new ImproperlyConfigured(`fullText(): ${meta.className} is a view of the database, which can have no index`);
  }
  const columns = fields.map((field) => ({ ...field, column: columnOf(meta, field.name) }));
  return Object.freeze({ meta, schema: schemaOf(em, meta), columns, language, name });
}

/** An entity without a schema uses the ORM's. */
function schemaOf(em: EntityManager, { schema }: EntityMetadata): string | undefined {
  const named = schema !== undefined && schema !== '*' ? schema : (em.schema ?? em.config.getSchema());
  return named === em.getPlatform().getDefaultSchemaName() ? undefined : named;
}

function columnOf(meta: EntityMetadata, name: string): string {
  const { steps, property, type } = fieldPath(meta, name, '__');
  const refuse = (why: string): ImproperlyConfigured =>
    new ImproperlyConfigured(`fullText(): "${name}" of ${meta.className} ${why}`);
  if (steps.length > 0) {
    throw refuse('leads to another entity; an index has the text columns of one entity, so name only those of its own');
  }
  if (!(name in meta.properties)) throw refuse('is part of an embeddable; name text columns of the entity itself');
  if (type.kind !== 'string') throw refuse(`is of type ${type.kind}; name text columns`);
  if (property.formula !== undefined) throw refuse('is a formula; name text columns');
  if (isConverted(property)) throw refuse('is stored by a type of the application; name plain text columns');
  const [column, ...others] = property.fieldNames;
  if (column === undefined || others.length > 0) throw refuse('is not kept in one column');
  return column;
}

/** A custom type may store anything in the database. */
function isConverted({ customType }: EntityProperty): boolean {
  if (customType === undefined) return false;
  return !['StringType', 'TextType', 'CharacterType'].includes(customType.constructor.name);
}

/** Describes what determines an index. It is stored with the index, so that a changed definition is noticed. */
export function definitionText({ columns, language }: Definition): string {
  const fields = columns.map(({ column, weight }) => `${column}^${weight}`).join(', ');
  return `fullText(${fields}; ${language})`;
}

/** The name of an index or table, prefixed with the entity's table. */
export function indexName({ meta, name }: Definition): string {
  return `${meta.tableName}_${name}`;
}
