import type { EntityManager } from '@mikro-orm/core';
import { type TObject, type TSchema, Type } from 'typebox';
import type { FileField, FileFields } from '../../files/file-field.ts';
import { getOrMake } from '../../get-or-make.ts';
import { isRecord } from '../../json.ts';
import { invalidInput } from '../../schema/error-details.ts';
import { MAX_PROBLEMS, type Problem } from '../../schema/scan-input.ts';
import { type Inspect, type Inspected, compileInspect } from '../../schema/validator.ts';
import { checkField } from './bound-field.ts';
import type { BodyMode, BodySchemas, BoundField, BoundInput, Reference } from './bound-input.ts';
import { type FindReferred, type RecordData, resolveReferences } from './references.ts';
import { mapObjects, mapProperties, partialOf, withKeyword, withOnly, withProperties } from '../schema-object.ts';
import { withinBounds } from '../wire-format.ts';

/** The values of a file in JSON. */
const UPLOAD = Type.Object(
  { upload: Type.String({ description: 'The text of this name that the request for the upload was answered with' }) },
  { title: 'UploadedFile', description: 'A file that was uploaded to the store' },
);
const REMOVAL = Type.Null({ description: 'Removes the file' });

/** The schemas of one body: in JSON, and as a form if it takes files. */
export interface BodyDocument {
  readonly json: TObject;
  readonly form?: TObject;
}

/** A field of a body that takes a file. */
export interface FileBoundField extends BoundField {
  readonly file: FileField;
}

/** A write shape that knows the columns of its entity. Whatever its schema allows, it lets nothing through that they cannot hold. */
export class BoundWriteShape<Data extends object> implements BoundInput {
  readonly schema: TObject;
  readonly fields: readonly BoundField[];
  readonly references: ReadonlyMap<string, Reference>;
  /** The fields that are files, by the names of their properties. */
  readonly files: FileFields;
  /** Those of them that a body may name an upload for. */
  readonly directFiles: readonly FileBoundField[];
  readonly #inspect: Readonly<Record<BodyMode, Inspect>>;
  readonly #inspectPartOfNew: Inspect;
  readonly #schemas: Readonly<Record<BodyMode, TObject>>;
  readonly #documented = new Map<TObject, BodyDocument>();
  /** True if a field has another name in bodies than its property. */
  readonly #renames: boolean;

  constructor({ schema, replacement, partial }: BodySchemas, fields: readonly BoundField[]) {
    this.schema = schema;
    this.#schemas = { create: schema, replace: replacement, change: partial };
    this.fields = fields;
    this.#renames = fields.some(({ name, sentAs }) => name !== sentAs);
    this.references = new Map(fields.flatMap(referencesOf));
    this.files = new Map(fields.flatMap(({ name, file }) => (file === undefined ? [] : [[name, file]])));
    this.directFiles = fields.filter((field): field is FileBoundField => field.file?.direct === true);
    const nodes = new Map();
    const inspect = (body: TObject): Inspect => compileInspect(withoutChildren(body, fields), 'body', nodes);
    const create = inspect(schema);
    this.#inspect = {
      create,
      replace: replacement === schema ? create : inspect(replacement),
      change: inspect(partial),
    };
    this.#inspectPartOfNew = replacement === schema ? this.#inspect.change : inspect(partialOf(schema));
  }

  /**
   * The schemas of a body as documents have them: with the bounds of the columns at every depth, which are no part of the other schemas.
   * Asked once the ORM has discovered the entities, whose children the body may hold.
   */
  documented(mode: BodyMode): BodyDocument {
    const schema = this.#schemas[mode];
    return getOrMake(this.#documented, schema, () => {
      const form = withBounds(schema, this.fields);
      return this.files.size === 0 ? { json: form } : { json: inJson(form, this.fields), form };
    });
  }

  /**
   * Makes a new object of what the shape knows of a body, by the names of the entity: declared defaults filled in, dates as Dates,
   * bigints as the entity has them. References are still what the client sent. To `change` a record, nothing is required, and no property of the record
   * gets its default.
   *
   * @throws InvalidUsage with a detail for every offending field
   */
  validate(body: unknown, mode: BodyMode = 'create'): object {
    const { value, problems } = this.inspect(body, mode);
    if (problems.length > 0) throw invalidInput('body', problems);
    return value as object;
  }

  inspect(body: unknown, mode: BodyMode): Inspected {
    return this.#inspected(this.#inspect[mode](body), mode);
  }

  /** Inspects a part of a body: nothing is required, and children are those of the whole body. */
  inspectPart(part: unknown, mode: BodyMode): Inspected {
    return mode === 'create' ? this.#inspected(this.#inspectPartOfNew(part), mode) : this.inspect(part, 'change');
  }

  #inspected(inspected: Inspected, mode: BodyMode): Inspected {
    const { value, problems, limit } = inspected;
    // Of values that nobody has looked at, a column can say nothing.
    if (!isRecord(value) || problems.length >= limit) return inspected;
    const values = this.#named(problems.length === 0 ? value : { ...value });
    const found = [...problems];
    for (const field of this.fields) checkField(field, values, found, mode);
    const listed = found.length === 0 ? found : inOrder(found, this.fields).slice(0, MAX_PROBLEMS);
    return { value: values, problems: listed, limit };
  }

  /** Puts values under the names of their properties. */
  #named(values: Record<string, unknown>): Record<string, unknown> {
    if (!this.#renames) return values;
    // A body with a fault may hold anything else.
    const sent = this.fields.filter(({ sentAs }) => Object.hasOwn(values, sentAs));
    return Object.fromEntries(sent.map(({ name, sentAs }) => [name, values[sentAs]]));
  }

  /** Tells if values, as `inspect` returns them, name records that only the database knows. */
  refers(values: Readonly<Record<string, unknown>>, mode: BodyMode): boolean {
    return this.fields.some(({ name, reference, children }) => {
      if (values[name] === undefined || values[name] === null) return false;
      // A child that is there is named by its key.
      return (
        reference !== undefined || (children !== undefined && (mode !== 'create' || children.shape.references.size > 0))
      );
    });
  }

  /**
   * Puts the related entities in the place of references.
   *
   * @param findReferred finds the records that may be referred to
   * @param known the faults of the records that are known already
   * @throws InvalidUsage with a detail for every fault that is known, and for every reference to a record that is not there
   */
  resolveReferences(
    em: EntityManager,
    records: readonly RecordData[],
    findReferred: FindReferred,
    known: readonly Problem[] = [],
  ): Promise<Data[]> {
    return resolveReferences(em, records, this.fields, findReferred, known) as Promise<Data[]>;
  }
}

function referencesOf({ name, reference, children, parts = [] }: BoundField): (readonly [path: string, Reference])[] {
  if (reference !== undefined) return [[name, reference]];
  const inner = [...parts.flatMap(referencesOf), ...(children?.shape.references ?? [])];
  return inner.map(([path, each]) => [`${name}.${path}`, each] as const);
}

/** Leaves the objects of children to their own shapes, each of which says by itself what it takes. */
function withoutChildren(schema: TObject, fields: readonly BoundField[]): TObject {
  const opaque = fields.filter(({ sentAs, children }) => children !== undefined && sentAs in schema.properties);
  if (opaque.length === 0) return schema;
  const lists = opaque.map(({ sentAs }) => [sentAs, withKeyword(schema.properties[sentAs]!, 'items', {})]);
  return withProperties(schema, { ...schema.properties, ...(Object.fromEntries(lists) as TObject['properties']) });
}

/** Takes the files out of a body, which JSON cannot hold. A null that removes one stays, and the upload that a client may name. */
function inJson(schema: TObject, fields: readonly BoundField[]): TObject {
  const properties = { ...schema.properties };
  for (const { sentAs, file, nullable } of fields) {
    if (file === undefined || !(sentAs in properties)) continue;
    const schemas = [...(file.direct ? [UPLOAD] : []), ...(nullable ? [REMOVAL] : [])];
    const [first] = schemas;
    if (first === undefined) delete properties[sentAs];
    else {
      const known = schemas.length === 1 ? first : Type.Union(schemas);
      properties[sentAs] = Type.IsOptional(properties[sentAs]) || !file.direct ? Type.Optional(known) : known;
    }
  }
  return withOnly(schema, properties);
}

/** Adds to the fields of an object what their columns can hold. A field that is bounded already stays the same schema. */
function withBounds(schema: TObject, fields: readonly BoundField[]): TObject {
  const byName = new Map(fields.map((field) => [field.sentAs, field]));
  return mapProperties(schema, (child, name) => {
    const field = byName.get(name);
    return field === undefined ? child : boundedField(child, field);
  });
}

/** Bounds a field where its values stand: those of children and embeddables are the properties of its objects. */
function boundedField(schema: TSchema, { bounds, parts, children }: BoundField): TSchema {
  const inner = children?.shape.fields ?? parts;
  if (inner !== undefined) return mapObjects(schema, (object) => withBounds(object, inner));
  return bounds === undefined ? schema : withinBounds(schema, bounds);
}

/** Sorts problems as the shape names its fields; problems of anything else come last. */
function inOrder(problems: readonly Problem[], fields: readonly BoundField[]): Problem[] {
  const positions = new Map(fields.map(({ path }, index) => [path, index]));
  const position = ({ path }: Problem): number => positions.get(`/${path.split('/')[1] ?? ''}`) ?? Infinity;
  return problems.toSorted((a, b) => Math.sign(position(a) - position(b)) || 0);
}
