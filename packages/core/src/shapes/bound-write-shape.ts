import { type EntityManager, type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { TObject, TSchema } from 'typebox';
import { FieldValueError } from '../fields/field-value.ts';
import { pointerStep } from '../json-pointer.ts';
import { type ColumnRule, columnRule } from './column-rule.ts';
import { invalidInput } from './error-details.ts';
import { checkWritable } from './json-types.ts';
import { type GrantOfReference, type Reference, resolveReferences } from './references.ts';
import { MAX_PROBLEMS, type Problem } from './scan-input.ts';
import { objectIn, partialOf, withProperties } from './schema-object.ts';
import { isRecord } from './schema-rules.ts';
import { type ShapeField, boundField, declaredProperty, inlineEmbeddable, primaryKeyOf } from './shape-field.ts';
import { type Inspect, type Inspected, compileInspect } from './validator.ts';
import { writeSchema } from './wire-format.ts';
import { type WriteField, canBeLeftOut, checkRelation, checkUnique, checkWritableProperty } from './write-field.ts';

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
  /** Validates a part of a record: nothing is required, and no property of the record gets its default. */
  validatePartial(body: unknown): object;
  /**
   * The data with the related entities in the place of references, loaded by `em`.
   *
   * @param grantOf which records may be referred to; default: all that the filters of their entity show
   * @throws InvalidUsage with a detail for every reference to a record that is not there
   */
  resolveReferences(em: EntityManager, data: object, grantOf?: GrantOfReference): Promise<Data>;
  /** The fields that refer to records of other entities. */
  readonly references: readonly Reference[];
}

/** A field of a body and its column. */
interface BoundField {
  readonly name: string;
  /** The JSON pointer to the field in a body. */
  readonly path: string;
  readonly schema: TSchema;
  readonly required: boolean;
  readonly nullable: boolean;
  /** Undefined where nothing is known of the column, or there is none. */
  readonly rule: ColumnRule | undefined;
  readonly reference: Reference | undefined;
  /** The fields of an embeddable that has several columns. */
  readonly parts?: readonly FieldPart[];
}

/** The checks of a value that its schema has let through. */
type FieldPart = Pick<BoundField, 'name' | 'path' | 'nullable' | 'rule' | 'parts'>;

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
  readonly references: readonly Reference[];
  readonly #inspect: Inspect;
  readonly #inspectPartial: Inspect;

  constructor(schema: TObject, fields: readonly BoundField[]) {
    this.schema = schema;
    this.partialSchema = partialOf(schema);
    this.#fields = fields;
    this.references = fields.map(({ reference }) => reference).filter((reference) => reference !== undefined);
    this.#inspect = compileInspect(schema, 'body');
    this.#inspectPartial = compileInspect(this.partialSchema, 'body');
  }

  validate(body: unknown): object {
    return this.#check(this.#inspect(body));
  }

  validatePartial(body: unknown): object {
    return this.#check(this.#inspectPartial(body));
  }

  async resolveReferences(em: EntityManager, data: object, grantOf?: GrantOfReference): Promise<Data> {
    if (this.references.length === 0) return data as Data;
    return (await resolveReferences(em, data as Record<string, unknown>, this.references, grantOf)) as Data;
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
function checkField(field: FieldPart, values: Record<string, unknown>, problems: Problem[]): void {
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

function bindField(meta: EntityMetadata, field: WriteField): BoundField {
  const { name, schema, optional } = field;
  const path = pointerStep(name);
  const property = meta.properties[name as never] as EntityProperty | undefined;
  if (property !== undefined) checkWritableProperty(meta, name, property);
  if (property !== undefined && schema !== undefined && !isColumn(property)) {
    const parts = embeddedParts(meta, name, path, schema);
    const required = optional !== true;
    return {
      name,
      path,
      schema,
      required,
      nullable: true,
      rule: undefined,
      reference: undefined,
      ...(parts && { parts }),
    };
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

/** The parts of an embeddable of several columns that a schema names; undefined for what is no such embeddable. */
function embeddedParts(meta: EntityMetadata, name: string, path: string, schema: TSchema): FieldPart[] | undefined {
  const embeddable = inlineEmbeddable(meta, name);
  const properties = objectIn(schema)?.properties;
  if (embeddable === undefined || properties === undefined) return undefined;
  return Object.entries<TSchema>(properties).map(([part, child]) => {
    if (!Object.hasOwn(embeddable.embeddedProps, part)) declaredProperty(embeddable.targetMeta!, part);
    const at = path + pointerStep(part);
    const parts = embeddedParts(meta, `${name}.${part}`, at, child);
    if (parts !== undefined) return { name: part, path: at, nullable: true, rule: undefined, parts };
    const column = boundField(meta, `${name}.${part}`);
    return { name: part, path: at, nullable: column.nullable, rule: columnRule(column) };
  });
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
