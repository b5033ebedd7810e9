import { ReferenceKind, type EntityManager, type EntityMetadata, type EntityProperty } from '@mikro-orm/core';
import type { TObject, TSchema } from 'typebox';
import { FieldValueError } from '../fields/field-value-error.ts';
import { columnRule, type ColumnRule } from './column-rule.ts';
import { MAX_PROBLEMS, type Problem } from './copy-input.ts';
import { primaryKeyOf } from './declared-field.ts';
import { invalidInput } from './error-details.ts';
import { writeSchema } from './field-schema.ts';
import { checkWritable } from './json-types.ts';
import { pointerStep } from '../json-pointer.ts';
import { resolveReferences, type Reference } from './references.ts';
import { partialOf, speaksOfTheWhole, withProperties, without } from './schema-object.ts';
import { boundField, type ShapeField } from './shape-field.ts';
import { compileInspect, type Inspect } from './validator.ts';
import { canBeLeftOut, checkRelation, checkUnique, checkWritableProperty, type WriteField } from './write-field.ts';

/** A write shape that knows the columns of its entity. Whatever its schema allows, it lets nothing through that they cannot hold. */
export interface BoundWriteShape<Data extends object> {
  readonly schema: TObject;
  readonly partialSchema: TObject;
  /**
   * A new object with what the shape knows of a body: declared defaults filled in, dates as Dates, bigints as the entity
   * has them. References are still what the client sent.
   *
   * @throws InvalidUsage with a detail for every offending field
   */
  validate(body: unknown): object;
  /** As `validate`, for a part of a record: nothing is required, no default is filled in. */
  validatePartial(body: unknown): object;
  /**
   * The data with the related entities in the place of references, loaded by `em`.
   *
   * @throws InvalidUsage with a detail for every reference to a record that is not there
   */
  resolveReferences(em: EntityManager, data: object): Promise<Data>;
}

/** A field of a body and its column. */
interface BoundField {
  readonly name: string;
  /** Where it stands in a body, as a JSON pointer. */
  readonly path: string;
  readonly schema: TSchema;
  readonly required: boolean;
  readonly nullable: boolean;
  /** Undefined where nothing is known of the column, or there is none. */
  readonly rule: ColumnRule | undefined;
  readonly reference: Reference | undefined;
}

/** @throws ImproperlyConfigured where a field's schema and its column can never fit each other */
export function bindWriteShape<Data extends object>(
  meta: EntityMetadata,
  declared: TObject,
  fields: readonly WriteField[],
): BoundWriteShape<Data> {
  const bound = fields.map((field) => bindField(meta, field));
  const properties = Object.fromEntries(bound.map(({ name, schema }) => [name, schema]));
  const required = bound.filter((field) => field.required).map(({ name }) => name);
  const schema = withProperties(declared, properties, 'required');
  if (required.length > 0) Object.assign(schema, { required });
  return new CompiledWriteShape<Data>(schema, bound);
}

class CompiledWriteShape<Data extends object> implements BoundWriteShape<Data> {
  readonly schema: TObject;
  readonly partialSchema: TObject;
  readonly #fields: readonly BoundField[];
  readonly #references: readonly Reference[];
  readonly #inspect: Inspect;
  readonly #inspectPartial: Inspect;

  constructor(schema: TObject, fields: readonly BoundField[]) {
    this.schema = schema;
    this.partialSchema = partialOf(schema);
    this.#fields = fields;
    this.#references = fields.map(({ reference }) => reference).filter((reference) => reference !== undefined);
    // What is required is checked here, so that one compiled schema serves a whole body and a part of one.
    this.#inspect = compileInspect(without(schema, 'required'), 'body');
    this.#inspectPartial = speaksOfTheWhole(schema) ? compileInspect(this.partialSchema, 'body') : this.#inspect;
  }

  validate(body: unknown): object {
    return this.#check(body, false);
  }

  validatePartial(body: unknown): object {
    return this.#check(body, true);
  }

  async resolveReferences(em: EntityManager, data: object): Promise<Data> {
    if (this.#references.length === 0) return data as Data;
    return (await resolveReferences(em, data as Record<string, unknown>, this.#references)) as Data;
  }

  #check(body: unknown, partial: boolean): object {
    const inspect = partial ? this.#inspectPartial : this.#inspect;
    const { value, problems } = inspect(body, { defaults: !partial });
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalidInput('body', problems);
    const values = value as Record<string, unknown>;
    const found = [...problems];
    for (const field of this.#fields) checkField(field, values, partial, found);
    if (found.length === 0) return values;
    throw invalidInput('body', inOrder(found, this.#fields).slice(0, MAX_PROBLEMS));
  }
}

/** Puts into `values` what the column takes for what the client sent, or into `problems` why it takes nothing. */
function checkField(field: BoundField, values: Record<string, unknown>, partial: boolean, problems: Problem[]): void {
  const { name, path, required, nullable, rule } = field;
  if (!Object.hasOwn(values, name)) {
    if (required && !partial) problems.push({ path, message: 'is required' });
    return;
  }
  if (problems.some((problem) => problem.path === path || problem.path.startsWith(`${path}/`))) return;
  const json = values[name];
  if (json === null) {
    if (!nullable) problems.push({ path, message: 'must not be null' });
    return;
  }
  try {
    if (rule !== undefined) values[name] = rule(json);
  } catch (error) {
    if (!(error instanceof FieldValueError)) throw error;
    problems.push({ path, message: error.message });
  }
}

/** As the shape names its fields; what stands elsewhere comes last. */
function inOrder(problems: readonly Problem[], fields: readonly BoundField[]): Problem[] {
  const positions = new Map(fields.map(({ path }, index) => [path, index]));
  const position = ({ path }: Problem): number => positions.get(`/${path.split('/')[1] ?? ''}`) ?? Infinity;
  return problems.toSorted((a, b) => Math.sign(position(a) - position(b)) || 0);
}

function bindField(meta: EntityMetadata, field: WriteField): BoundField {
  const { name, schema, optional } = field;
  const path = pointerStep(name);
  const property = meta.properties[name as never] as EntityProperty | undefined;
  if (property !== undefined) checkWritableProperty(meta, name, property);
  if (property !== undefined && schema !== undefined && !isColumn(property)) {
    return { name, path, schema, required: optional !== true, nullable: true, rule: undefined, reference: undefined };
  }
  const column = boundField(meta, name);
  const reference = referenceOf(meta, column, field.naturalKey);
  const value =
    reference === undefined ? column : { ...boundField(reference.target, reference.key), name, target: column.target };
  const canLeaveOut = canBeLeftOut(column);
  const written = schema ?? writeSchema({ ...value, nullable: column.nullable }, canLeaveOut);
  checkWritable(meta.className, value, written);
  return {
    name,
    path,
    schema: written,
    required: !(optional ?? canLeaveOut),
    nullable: column.nullable,
    rule: columnRule(value),
    reference,
  };
}

function referenceOf(
  meta: EntityMetadata,
  { name, property, target }: ShapeField,
  naturalKey: string | undefined,
): Reference | undefined {
  if (naturalKey !== undefined) checkRelation(meta, name, property);
  if (target === undefined) return undefined;
  if (naturalKey !== undefined) checkUnique(target, naturalKey);
  const held = property.targetKey ?? primaryKeyOf(target);
  return { name, target, key: naturalKey ?? held, held: property.mapToPk === true ? held : undefined };
}

/** A property that is not stored, or an embeddable over several columns: its own schema is all there is to check. */
function isColumn(property: EntityProperty): boolean {
  if (property.kind === ReferenceKind.EMBEDDED) return property.object === true;
  return property.persist !== false || property.formula !== undefined;
}
