import type { EntityManager } from '@mikro-orm/core';
import { type TObject, type TSchema, Type } from 'typebox';
import type { FileField, FileFields } from '../../files/file-field.ts';
import { FILE_LINK } from '../../files/file-type.ts';
import { SentLink } from '../../files/sent-link.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { isRecord } from '../../support/json.ts';
import { invalidInput } from '../../schema/error-details.ts';
import { MAX_PROBLEMS, type Problem } from '../../schema/scan-input.ts';
import { type Inspect, type Inspected, compileInspect } from '../../schema/validator.ts';
import { checkField, roundedDecimals } from './bound-field.ts';
import type { BodyMode, BodySchemas, BoundField, BoundInput, Reference } from './bound-input.ts';
import { type FindReferred, type RecordData, resolveReferences } from './references.ts';
import { mapObjects, mapProperties, partialOf, withKeyword, withOnly, withProperties } from '../schema-object.ts';
import { withinBounds } from '../wire-format.ts';

/** The values of a file field in JSON. */
const UPLOAD = Type.Object(
  { upload: Type.String({ description: 'The text `upload` from the response to the request for the upload' }) },
  { title: 'UploadedFile', description: 'A file that was uploaded to the store' },
);
const REMOVAL = Type.Null({ description: 'Removes the file' });

/** The schemas of one body: as JSON, and as a form if it accepts files. */
export interface BodyDocument {
  readonly json: TObject;
  readonly form?: TObject;
}

/** A field of a body that accepts a file. */
export interface FileBoundField extends BoundField {
  readonly file: FileField;
}

/**
 * A write shape with the columns of its entity. It rejects values that a column cannot hold, even if its schema allows
 * them.
 */
export class BoundWriteShape implements BoundInput {
  readonly schema: TObject;
  readonly fields: readonly BoundField[];
  readonly references: ReadonlyMap<string, Reference>;
  /** The file fields, by the names of their properties. */
  readonly files: FileFields;
  /** The file fields for which a body may name an upload. */
  readonly directFiles: readonly FileBoundField[];
  readonly #inspect: Readonly<Record<BodyMode, Inspect>>;
  readonly #inspectPartOfNew: Inspect;
  readonly #schemas: Readonly<Record<BodyMode, TObject>>;
  readonly #documented = { new: new Map<TObject, BodyDocument>(), existing: new Map<TObject, BodyDocument>() };
  /** True if the name of a field in bodies differs from the name of its property. */
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
   * Returns the schemas of a body for documents. Only these have the bounds of the columns, at every depth. Call it
   * after the ORM has discovered the entities, because the body may hold children.
   */
  documented(mode: BodyMode): BodyDocument {
    const schema = this.#schemas[mode];
    const isNew = mode === 'create' || this.files.size === 0;
    return getOrMake(this.#documented[isNew ? 'new' : 'existing'], schema, () => {
      const form = withBounds(schema, this.fields);
      return this.files.size === 0 ? { json: form } : { json: inJson(form, this.fields, isNew), form };
    });
  }

  /**
   * Makes a new object from the known fields of a body, under the names of the entity's properties. It fills in
   * declared defaults, and has dates as Dates and bigints in the type of the entity. References are still in the form
   * that the client sent. In the mode `change`, nothing is required, and no property of the record gets its default.
   *
   * @throws InvalidUsage with a detail for every invalid field
   */
  validate(body: unknown, mode: BodyMode = 'create'): object {
    const { value, problems } = this.inspect(body, mode);
    if (problems.length > 0) throw invalidInput('body', problems);
    return value as object;
  }

  inspect(body: unknown, mode: BodyMode): Inspected {
    return this.#inspected(this.#inspect[mode](body), mode);
  }

  /** Inspects a part of a body. Nothing is required. Children are validated as in a whole body. */
  inspectPart(part: unknown, mode: BodyMode): Inspected {
    return mode === 'create' ? this.#inspected(this.#inspectPartOfNew(part), mode) : this.inspect(part, 'change');
  }

  #inspected(inspected: Inspected, mode: BodyMode): Inspected {
    const { value, problems, limit, rounded = [] } = inspected;
    // A column cannot check values that the schema did not validate.
    if (!isRecord(value) || problems.length >= limit) return inspected;
    const values = this.#named(problems.length === 0 ? value : { ...value });
    const found = [...problems, ...roundedDecimals(this.fields, rounded)];
    for (const field of this.fields) checkField(field, values, found, mode);
    const listed = found.length === 0 ? found : inOrder(found, this.fields).slice(0, MAX_PROBLEMS);
    return { value: values, problems: listed, limit };
  }

  /** Renames fields to the names of their properties. */
  #named(values: Record<string, unknown>): Record<string, unknown> {
    if (!this.#renames) return values;
    // An invalid body may also have unknown fields.
    const sent = this.fields.filter(({ sentAs }) => Object.hasOwn(values, sentAs));
    return Object.fromEntries(sent.map(({ name, sentAs }) => [name, values[sentAs]]));
  }

  /**
   * Reports whether values, as `inspect` returns them, name records that only the database can find, or a file that only
   * the record can tell.
   */
  refers(values: Readonly<Record<string, unknown>>, mode: BodyMode): boolean {
    return this.fields.some(({ name, reference, children }) => {
      if (values[name] === undefined || values[name] === null) return false;
      if (values[name] instanceof SentLink) return true;
      // A child that exists is named by its key.
      return (
        reference !== undefined || (children !== undefined && (mode !== 'create' || children.shape.references.size > 0))
      );
    });
  }

  /**
   * Replaces references by the related entities.
   *
   * @param findReferred finds the records that may be referred to
   * @param known the problems that are already known
   * @throws InvalidUsage with a detail for every known problem, and for every reference to a missing record
   */
  resolveReferences(
    em: EntityManager,
    records: readonly RecordData[],
    findReferred: FindReferred,
    known: readonly Problem[] = [],
  ): Promise<object[]> {
    return resolveReferences(em, records, this.fields, findReferred, known);
  }
}

function referencesOf({ name, reference, children, parts = [] }: BoundField): (readonly [path: string, Reference])[] {
  if (reference !== undefined) return [[name, reference]];
  const inner = [...parts.flatMap(referencesOf), ...(children?.shape.references ?? [])];
  return inner.map(([path, each]) => [`${name}.${path}`, each] as const);
}

/** Removes the schemas of children from a schema. The shape of the children validates them. */
function withoutChildren(schema: TObject, fields: readonly BoundField[]): TObject {
  const opaque = fields.filter(({ sentAs, children }) => children !== undefined && sentAs in schema.properties);
  if (opaque.length === 0) return schema;
  const lists = opaque.map(({ sentAs, children }) => {
    const known = schema.properties[sentAs]!;
    if (!children!.isOne) return [sentAs, withKeyword(known, 'items', {})];
    return [sentAs, Type.IsOptional(known) ? Type.Optional(Type.Unknown()) : Type.Unknown()];
  });
  return withProperties(schema, { ...schema.properties, ...(Object.fromEntries(lists) as TObject['properties']) });
}

/**
 * Removes files from a body, because JSON cannot hold them. The null that removes a file stays, and so do the name of an
 * upload and the link of the file that an existing record keeps.
 */
function inJson(schema: TObject, fields: readonly BoundField[], isNew: boolean): TObject {
  const properties = { ...schema.properties };
  for (const { sentAs, file, nullable } of fields) {
    if (file === undefined || !(sentAs in properties)) continue;
    const schemas = [...(file.direct ? [UPLOAD] : []), ...(isNew ? [] : [FILE_LINK]), ...(nullable ? [REMOVAL] : [])];
    const [first] = schemas;
    if (first === undefined) delete properties[sentAs];
    else {
      const known = schemas.length === 1 ? first : Type.Union(schemas);
      properties[sentAs] = Type.IsOptional(properties[sentAs]) || !file.direct ? Type.Optional(known) : known;
    }
  }
  return withOnly(schema, properties);
}

/** Adds the bounds of the columns to the fields of an object. A field that already has them keeps the same schema. */
function withBounds(schema: TObject, fields: readonly BoundField[]): TObject {
  const byName = new Map(fields.map((field) => [field.sentAs, field]));
  return mapProperties(schema, (child, name) => {
    const field = byName.get(name);
    return field === undefined ? child : boundedField(child, field);
  });
}

/** Adds bounds to a field. For children and embeddables, adds them to the properties of their objects. */
function boundedField(schema: TSchema, { bounds, parts, children }: BoundField): TSchema {
  const inner = children?.shape.fields ?? parts;
  if (inner !== undefined) return mapObjects(schema, (object) => withBounds(object, inner));
  return bounds === undefined ? schema : withinBounds(schema, bounds);
}

/** Sorts problems in the order of the shape's fields. Other problems come last. */
function inOrder(problems: readonly Problem[], fields: readonly BoundField[]): Problem[] {
  const positions = new Map(fields.map(({ path }, index) => [path, index]));
  const position = ({ path }: Problem): number => positions.get(`/${path.split('/')[1] ?? ''}`) ?? Infinity;
  return problems.toSorted((a, b) => Math.sign(position(a) - position(b)) || 0);
}
