import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { TObject, TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import { findPlace } from '../fields/field-path.ts';
import { FieldValueError } from '../fields/field-value.ts';
import { isInlineEmbeddable, isToMany, isToOne, isUnique, ownsColumn, referredKey } from '../fields/property.ts';
import { isRecord, pointerStep } from '../json.ts';
import { type ColumnRule, columnRule } from './column-rule.ts';
import { invalidInput } from '../schema/error-details.ts';
import { checkWritable } from './json-types.ts';
import { type GrantOfReference, type Reference, resolveReferences } from './references.ts';
import { MAX_PROBLEMS, type Problem } from '../schema/scan-input.ts';
import { type ObjectSchema, objectIn, withProperties } from './schema-object.ts';
import { shapeField } from './shape-field.ts';
import { type Inspect, type Inspected, compileInspect } from '../schema/validator.ts';
import { columnBounds, withinBounds } from './wire-format.ts';

/** A field of a body and its column. */
interface BoundField {
  readonly name: string;
  /** The JSON pointer to the field in a body. */
  readonly path: string;
  readonly nullable: boolean;
  /** Undefined if nothing is known of the column, or there is none. */
  readonly rule?: ColumnRule | undefined;
  /** The keywords that say in a schema what the column can hold. */
  readonly bounds?: object;
  readonly reference?: Reference | undefined;
  /** The fields of an embeddable that has several columns. */
  readonly parts?: readonly BoundField[] | undefined;
}

/** A write shape that knows the columns of its entity. Whatever its schema allows, it lets nothing through that they cannot hold. */
export class BoundWriteShape<Data extends object> {
  readonly schema: TObject;
  readonly partialSchema: TObject;
  /** The schemas of bodies as documents have them: with the bounds of the columns, which are no part of the other ones. */
  readonly documented: { readonly schema: TObject; readonly partial: TObject };
  /** The fields that refer to records of other entities. */
  readonly references: readonly Reference[];
  readonly #fields: readonly BoundField[];
  readonly #inspect: Inspect;
  readonly #inspectPartial: Inspect;

  constructor(schema: TObject, partialSchema: TObject, fields: readonly BoundField[]) {
    this.schema = schema;
    this.partialSchema = partialSchema;
    this.documented = { schema: withBounds(schema, fields), partial: withBounds(partialSchema, fields) };
    this.references = fields.map(({ reference }) => reference).filter((reference) => reference !== undefined);
    this.#fields = fields;
    const nodes = new Map();
    this.#inspect = compileInspect(schema, 'body', nodes);
    this.#inspectPartial = compileInspect(partialSchema, 'body', nodes);
  }

  /**
   * Makes a new object of what the shape knows of a body: declared defaults filled in, dates as Dates, bigints as the entity
   * has them. References are still what the client sent.
   *
   * @throws InvalidUsage with a detail for every offending field
   */
  validate(body: unknown): object {
    return this.#check(this.#inspect(body));
  }

  /** Validates a part of a record: nothing is required, and no property of the record gets its default. */
  validatePartial(body: unknown): object {
    return this.#check(this.#inspectPartial(body));
  }

  /**
   * Puts the related entities, loaded by `em`, in the place of references.
   *
   * @param grantOf which records may be referred to; default: all that the filters of their entity show
   * @throws InvalidUsage with a detail for every reference to a record that is not there
   */
  resolveReferences(em: EntityManager, data: object, grantOf?: GrantOfReference): Promise<Data> {
    return resolveReferences(em, data, this.references, grantOf) as Promise<Data>;
  }

  #check({ value, problems }: Inspected): object {
    if (!isRecord(value)) throw invalidInput('body', problems);
    const values = problems.length === 0 ? value : { ...value };
    const found = [...problems];
    for (const field of this.#fields) checkField(field, values, found);
    if (found.length === 0) return values;
    throw invalidInput('body', inOrder(found, this.#fields).slice(0, MAX_PROBLEMS));
  }
}

function withBounds(schema: TObject, fields: readonly BoundField[]): TObject {
  const bounds = new Map(fields.map((field) => [field.name, field.bounds]));
  const properties = Object.entries(schema.properties).map(([name, child]) => [
    name,
    withinBounds(child, bounds.get(name) ?? {}),
  ]);
  const isBounded = properties.every(([name, child]) => child === schema.properties[name as string]);
  return isBounded ? schema : withProperties(schema, Object.fromEntries(properties) as TObject['properties']);
}

/** Puts into `values` what the column takes for what the client sent, or into `problems` why it takes nothing. */
function checkField(field: BoundField, values: Record<string, unknown>, problems: Problem[]): void {
  const { name, path, nullable, rule, parts } = field;
  if (!Object.hasOwn(values, name)) return;
  if (problems.some((problem) => problem.path === path || problem.path.startsWith(`${path}/`))) return;
  const json = values[name];
  if (json === null) {
    if (!nullable) problems.push({ path, message: 'must not be null' });
    return;
  }
  try {
    if (rule !== undefined) values[name] = rule(json);
    if (parts !== undefined) {
      const inner = { ...(json as Record<string, unknown>) };
      for (const part of parts) checkField(part, inner, problems);
      values[name] = inner;
    }
  } catch (error) {
    if (!(error instanceof FieldValueError)) throw error;
    problems.push({ path, message: error.message });
  }
}

/** Sorts problems as the shape names its fields; problems of anything else come last. */
function inOrder(problems: readonly Problem[], fields: readonly BoundField[]): Problem[] {
  const positions = new Map(fields.map(({ path }, index) => [path, index]));
  const position = ({ path }: Problem): number => positions.get(`/${path.split('/')[1] ?? ''}`) ?? Infinity;
  return problems.toSorted((a, b) => Math.sign(position(a) - position(b)) || 0);
}

/** The unique fields by which references are made, by the names of the relations: `name` of `role.name`. */
export type NaturalKeys = ReadonlyMap<string, string>;

/**
 * Finds the columns of the fields that a schema names, before the ORM has discovered the entity as afterwards.
 *
 * @param embeddable the field whose parts they are
 * @throws ImproperlyConfigured if a field cannot be written, or if its schema and its column can never fit each other
 */
export function bindFields(
  meta: EntityMetadata,
  { properties }: ObjectSchema,
  naturalKeys: NaturalKeys,
  embeddable?: { readonly key: string; readonly path: string },
): BoundField[] {
  return Object.entries<TSchema>(properties).map(([name, schema]) => {
    const key = embeddable === undefined ? name : `${embeddable.key}.${name}`;
    const path = `${embeddable?.path ?? ''}${pointerStep(name)}`;
    return { name, path, ...bindColumn(meta, key, path, schema, naturalKeys.get(key)) };
  });
}

function bindColumn(
  meta: EntityMetadata,
  key: string,
  path: string,
  schema: TSchema,
  naturalKey: string | undefined,
): Omit<BoundField, 'name' | 'path'> {
  const place = findPlace(meta, key, '.');
  if (typeof place === 'string') throw new ImproperlyConfigured(place);
  const { property } = place;
  checkWritableProperty(`${meta.className}.${key}`, property);
  if (isInlineEmbeddable(property)) {
    const object = objectIn(schema);
    return { nullable: true, parts: object && bindFields(meta, object, new Map(), { key, path }) };
  }
  // A property that is not stored has no column, and its schema has judged it.
  if (property.persist === false) return { nullable: true };
  const column = shapeField(meta, key);
  const value = naturalKey === undefined ? column : shapeField(meta, `${key}.${naturalKey}`);
  const { nullable, target } = column;
  checkWritable(meta.className, { ...value, name: key, target }, schema);
  const rule = columnRule(value);
  const bounds = columnBounds(value);
  if (target === undefined) return { nullable, rule, bounds };
  if (naturalKey !== undefined) checkUnique(target, value.property);
  const held = referredKey(property).name;
  const reference = { name: key, target, key: naturalKey ?? held, held: property.mapToPk === true ? held : undefined };
  return { nullable, rule, bounds, reference };
}

/** @throws ImproperlyConfigured for a property that no client can write: computed by the database, or on the other side */
function checkWritableProperty(owner: string, property: EntityProperty): void {
  if (property.formula !== undefined || property.generated !== undefined) {
    throw new ImproperlyConfigured(`${owner} is computed by the database, so a write shape cannot hold it`);
  }
  if (isToMany(property)) {
    throw new ImproperlyConfigured(
      `${owner} leads to many records, which a write shape cannot hold; write them in a hook of the view`,
    );
  }
  if (isToOne(property) && !ownsColumn(property)) {
    throw new ImproperlyConfigured(`${owner} has its column at the other side, so a write shape cannot hold it`);
  }
}

/** @throws ImproperlyConfigured if several records may have the same value */
function checkUnique(target: EntityMetadata, property: EntityProperty): void {
  if (isUnique(target, property)) return;
  throw new ImproperlyConfigured(
    `${target.className}.${property.name} is not unique, so no reference can be made by it`,
  );
}
