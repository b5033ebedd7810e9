import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { TObject, TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import { isInlineEmbeddable, ownsColumn } from '../fields/field-path.ts';
import { isToMany, isToOne, onlyPrimaryKey, referredKey } from '../fields/field-type.ts';
import { FieldValueError } from '../fields/field-value.ts';
import { pointerStep } from '../json-pointer.ts';
import { type ColumnRule, columnRule } from './column-rule.ts';
import { invalidInput } from './error-details.ts';
import { checkWritable } from './json-types.ts';
import { type GrantOfReference, type Reference, resolveReferences } from './references.ts';
import { MAX_PROBLEMS, type Problem } from './scan-input.ts';
import { objectIn } from './schema-object.ts';
import { isRecord } from './schema-rules.ts';
import { embeddableAt, shapeField } from './shape-field.ts';
import { type Inspect, type Inspected, compileInspect } from './validator.ts';

/** A field of a body and its column. */
interface BoundField {
  readonly name: string;
  /** The JSON pointer to the field in a body. */
  readonly path: string;
  readonly nullable: boolean;
  /** Undefined if nothing is known of the column, or there is none. */
  readonly rule?: ColumnRule | undefined;
  readonly reference?: Reference | undefined;
  /** The fields of an embeddable that has several columns. */
  readonly parts?: readonly BoundField[] | undefined;
}

/** A write shape that knows the columns of its entity. Whatever its schema allows, it lets nothing through that they cannot hold. */
export class BoundWriteShape<Data extends object> {
  readonly schema: TObject;
  readonly partialSchema: TObject;
  /** The fields that refer to records of other entities. */
  readonly references: readonly Reference[];
  readonly #fields: readonly BoundField[];
  readonly #inspect: Inspect;
  readonly #inspectPartial: Inspect;

  constructor(schema: TObject, partialSchema: TObject, fields: readonly BoundField[]) {
    this.schema = schema;
    this.partialSchema = partialSchema;
    this.references = fields.map(({ reference }) => reference).filter((reference) => reference !== undefined);
    this.#fields = fields;
    this.#inspect = compileInspect(schema, 'body');
    this.#inspectPartial = compileInspect(partialSchema, 'body');
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

/**
 * Finds the columns of the fields that a schema names, before the ORM has discovered the entity as afterwards.
 *
 * @throws ImproperlyConfigured if a field cannot be written, or if its schema and its column can never fit each other
 */
export function bindFields(
  meta: EntityMetadata,
  schema: TObject,
  naturalKeys: Readonly<Record<string, string>>,
): BoundField[] {
  return Object.entries<TSchema>(schema.properties).map(([name, child]) =>
    bindField(meta, name, child, Object.hasOwn(naturalKeys, name) ? naturalKeys[name] : undefined),
  );
}

function bindField(meta: EntityMetadata, name: string, schema: TSchema, naturalKey: string | undefined): BoundField {
  const path = pointerStep(name);
  const property = meta.properties[name as never] as EntityProperty | undefined;
  if (property !== undefined) {
    checkWritableProperty(`${meta.className}.${name}`, property);
    if (isInlineEmbeddable(property)) {
      return { name, path, nullable: true, parts: embeddedParts(meta, name, path, schema) };
    }
    // Of what is not stored, its own schema is all there is to check.
    if (property.persist === false) return { name, path, nullable: true };
  }
  const column = shapeField(meta, name);
  const value = naturalKey === undefined ? column : shapeField(meta, `${name}.${naturalKey}`);
  const { nullable, target } = column;
  checkWritable(meta.className, { ...value, name, target }, schema);
  if (target === undefined) return { name, path, nullable, rule: columnRule(value) };
  if (naturalKey !== undefined) checkUnique(target, value.property);
  const held = referredKey(column.property).name;
  const reference = {
    name,
    target,
    key: naturalKey ?? held,
    held: column.property.mapToPk === true ? held : undefined,
  };
  return { name, path, nullable, rule: columnRule(value), reference };
}

/** Finds the columns of the parts of an embeddable that a schema names; undefined if the schema is not an object's. */
function embeddedParts(meta: EntityMetadata, name: string, path: string, schema: TSchema): BoundField[] | undefined {
  const properties = objectIn(schema)?.properties;
  if (properties === undefined) return undefined;
  return Object.entries<TSchema>(properties).map(([part, child]) => {
    const inner = `${name}.${part}`;
    const at = path + pointerStep(part);
    if (embeddableAt(meta, inner)?.inline === true) {
      return { name: part, path: at, nullable: true, parts: embeddedParts(meta, inner, at, child) };
    }
    const column = shapeField(meta, inner);
    return { name: part, path: at, nullable: column.nullable, rule: columnRule(column) };
  });
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
function checkUnique(target: EntityMetadata, { name, primary, unique = false }: EntityProperty): void {
  const alone = [...(target.uniques ?? [])].some(({ properties }) => [properties].flat().join() === name);
  const isOnlyKey = primary === true && onlyPrimaryKey(target) !== undefined;
  if (alone || isOnlyKey || unique !== false) return;
  throw new ImproperlyConfigured(`${target.className}.${name} is not unique, so no reference can be made by it`);
}
