import type { EntityMetadata, EntityName } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import type { Awaitable } from '../../support/awaitable.ts';
import { getCurrentUser, permissionDenied } from '../../http/current-user.ts';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { DirectUploads, isNamedUpload, type UploadContext, type UploadPlace } from '../../files/direct-uploads.ts';
import type { FileFields } from '../../files/file-field.ts';
import { fieldPath } from '../../fields/field-path.ts';
import { keyText, primaryKey } from '../../fields/primary-key.ts';
import { discriminatorMessage, isDiscriminator } from '../../fields/property.ts';
import { resolveOption } from '../../filters/filter.ts';
import { isRecord } from '../../support/json.ts';
import { keyOf } from '../../mikro/entity-reader.ts';
import { prefixErrors } from '../../errors/options.ts';
import type { FillOf } from '../../permissions/permission.ts';
import { counted, invalidInput } from '../../schema/error-details.ts';
import type { Problem } from '../../schema/scan-input.ts';
import { compileInspect, type Inspect } from '../../schema/validator.ts';
import type { BodyMode } from '../../shapes/write/bound-input.ts';
import type { BoundWriteShape, FileBoundField } from '../../shapes/write/bound-write-shape.ts';
import { countRelated, maxRelated } from '../../shapes/write/related-items.ts';
import { joined, type ObjectSchema, partialOf } from '../../shapes/schema-object.ts';
import { toWriteShape, type WriteShape } from '../../shapes/write/write-shape.ts';
import { Problems } from './problems.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import type { ReservedKeys } from '../records/reserved-keys.ts';
import { namedShapes, ShapeChoice } from '../request/named-shapes.ts';
import { type InputShape, type ReadBody, validBody } from '../request/read-input.ts';
import { stateOf } from '../request/request-state.ts';
import { INPUT_OPERATIONS, type InputOperation } from '../request/operation.ts';

type Values = Readonly<Record<string, unknown>>;

/** The options of a view that define its input. */
export interface InputOptions {
  readonly write?: unknown;
  readonly extra?: ObjectSchema;
  readonly fill?: Readonly<Record<string, (request: FastifyRequest) => unknown>>;
  readonly validate?: (
    data: Values,
    problems: Problems,
    request: FastifyRequest,
    record: object | undefined,
    after: Values,
  ) => Awaitable<unknown>;
}

/** The part of a view that chooses a write shape. */
export interface ShapedView {
  readonly name: string;
  writeShapeFor(request: FastifyRequest, operation: InputOperation): string | undefined;
}

/** The view that an input belongs to. */
export interface InputPlace {
  readonly view: ShapedView;
  readonly overrides: ViewOverrides;
  readonly entity: EntityName<object>;
  readonly meta: EntityMetadata;
  /** The fields that the path of a nested view sets. */
  readonly taken: readonly string[];
  /** The fields that permissions set on create. */
  readonly owned: Readonly<Record<string, FillOf>>;
  /**
   * Explains why no new record can be stored from a shape's fields and the fields that the view sets. Undefined if one
   * can.
   *
   * @param filled the names of the fields that the view sets
   */
  readonly creationFault: (shape: BoundWriteShape, filled: readonly string[]) => string | undefined;
  readonly context: UploadContext & { readonly reservedKeys: ReservedKeys };
}

/** The fields and files of a `multipart/form-data` body. */
export interface FormFields {
  /** The schema for reading text fields. */
  readonly schema: TObject;
  readonly files: FileFields;
}

/** The input of a view: the shapes of its bodies, the option `extra`, its rules, and the fields that it sets. */
export class ViewInput {
  readonly #choice: ShapeChoice<InputOperation, BoundWriteShape, InputShape>;
  /** The fields that bodies can have. */
  readonly fields: readonly string[];
  /** The files, by property. */
  readonly files: FileFields;
  /** The files that clients upload to the store themselves; undefined if there are none. */
  readonly uploads: DirectUploads | undefined;
  /** The properties that the view sets on create. */
  readonly filled: readonly string[];
  readonly #options: InputOptions;
  readonly #fills: Readonly<Record<string, FillOf>>;
  /** The fields that the path sets and that permissions require to belong to the user. */
  readonly #ownerFields: readonly (readonly [field: string, ownerOf: FillOf])[];
  readonly #meta: EntityMetadata;
  readonly #key: string;
  readonly #reservedKeys: ReservedKeys;
  readonly #extra: Readonly<Record<BodyMode, { readonly schema: TObject; readonly inspect: Inspect }>> | undefined;

  constructor(
    options: InputOptions,
    { view, overrides, entity, meta, taken, owned, creationFault, context }: InputPlace,
  ) {
    const { name } = view;
    const { write, extra, fill = {} } = options;
    this.#options = options;
    this.#meta = meta;
    this.#key = primaryKey(meta).key;
    this.#reservedKeys = context.reservedKeys;
    for (const field of Object.keys(fill)) {
      resolveOption(name, 'fill', field, () => fieldPath(meta, field, '.'));
      if (isDiscriminator(meta, field)) throw new ImproperlyConfigured(`${name}: ${discriminatorMessage(meta, field)}`);
    }
    this.#fills = { ...owned, ...fill };
    this.#ownerFields = Object.entries(owned).filter(([field]) => taken.includes(field));
    this.filled = Object.keys(this.#fills).filter((field) => !taken.includes(field));
    const filled = [...taken, ...this.filled];
    const bound = namedShapes(write, {
      name,
      option: 'write',
      operations: INPUT_OPERATIONS,
      isChosen: overrides.choosesWriteShape,
      make: (shape, option) =>
        prefixErrors(`${name}: option "${option}"`, () =>
          toWriteShape(entity, shape as WriteShape<object, object>)
            .without(filled)
            .bind(meta),
        ),
    });
    const choose = overrides.choosesWriteShape ? view.writeShapeFor.bind(view) : undefined;
    this.#choice = new ShapeChoice({
      shapes: bound,
      operations: INPUT_OPERATIONS,
      hook: { owner: `${name}: writeShapeFor()`, choose },
      make: (each, shape) => ({ name: each, shape }),
      fits: ({ shape }, operation) => operation !== 'create' || creationFault(shape, filled) === undefined,
    });
    const fault = creationFault(this.#choice.usual.create.shape, filled);
    if (fault !== undefined) throw new ImproperlyConfigured(fault);
    this.files = new Map(this.shapes.flatMap(({ files }) => [...files]));
    this.uploads = this.directFiles.length === 0 ? undefined : new DirectUploads(name, context);
    checkStores(name, this.directFiles);
    const shaped = this.shapes.flatMap(({ fields }) => fields.map((field) => field.sentAs));
    const further = Object.keys(extra?.properties ?? {});
    const twice = further.find((field) => shaped.includes(field) || field in meta.properties);
    if (twice !== undefined) {
      throw new ImproperlyConfigured(
        `${name}: option "extra" names "${twice}", which is a property of ${meta.className}`,
      );
    }
    this.fields = [...new Set([...shaped, ...further])];
    if (extra === undefined) return;
    const compiled = (schema: TObject) =>
      prefixErrors(`${name}: option "extra"`, () => ({ schema, inspect: compileInspect(schema, 'body') }));
    const input = compiled(extra as TObject);
    this.#extra = { create: input, replace: input, change: compiled(partialOf(extra as TObject)) };
  }

  /** True if the view has the option `validate`. */
  get isRuled(): boolean {
    return this.#options.validate !== undefined;
  }

  /** All shapes of bodies, without duplicates. */
  get shapes(): readonly BoundWriteShape[] {
    return this.#choice.all.map(({ shape }) => shape);
  }

  /** The file fields of all shapes that accept a direct upload to the store. */
  get directFiles(): readonly FileBoundField[] {
    return this.shapes.flatMap(({ directFiles }) => directFiles);
  }

  /** Lists the shapes of requests for an operation, the default first. */
  choicesFor(operation: InputOperation): readonly InputShape[] {
    return this.#choice.choicesFor(operation);
  }

  /** Returns the shape of a request for an operation. The view is asked only once per request. */
  of(request: FastifyRequest, operation: InputOperation): InputShape {
    const chosen = (stateOf(request).inputShapes ??= {});
    return (chosen[operation] ??= this.#choice.choose(request, operation));
  }

  /** Lists the schemas of JSON bodies for documents, in the order of `choicesFor`. */
  documented(mode: BodyMode): readonly TObject[] {
    return this.choicesFor(operationOf(mode)).map(({ shape }) => this.#withExtra(shape.documented(mode).json, mode));
  }

  /** The forms that requests can send, by shape. Undefined if no shape has a file. */
  formsOf(mode: BodyMode): ReadonlyMap<InputShape, FormFields> | undefined {
    const choices = this.choicesFor(operationOf(mode));
    if (choices.every(({ shape }) => shape.files.size === 0)) return undefined;
    return new Map(
      choices.map((choice) => {
        const { json, form = json } = choice.shape.documented(mode);
        const files = choice.shape.fields.flatMap(({ sentAs, file }) =>
          file === undefined ? [] : [[sentAs, file] as const],
        );
        return [choice, { schema: this.#withExtra(form, mode), files: new Map(files) }];
      }),
    );
  }

  #withExtra(schema: TObject, mode: BodyMode): TObject {
    const extra = this.#extra?.[mode].schema;
    return extra === undefined ? schema : joined(schema, extra);
  }

  /**
   * True if a body can have faults that its schemas do not find: by rules of the view, by references to other records,
   * or by links of files.
   */
  findsMore(request: FastifyRequest, mode: BodyMode): boolean {
    const { fields, files } = this.#shapeOf(request, mode);
    const hasLinks = mode !== 'create' && files.size > 0;
    return this.isRuled || hasLinks || fields.some(({ reference, children }) => (reference ?? children) !== undefined);
  }

  /**
   * Reads a body. Rules of the view and references to other records can add faults. If the body has any of these, its
   * faults are returned together with the valid values.
   *
   * @param path the path of this body within the body of the request
   * @throws InvalidUsage with a detail for every offending field, if no further faults are possible
   */
  read(request: FastifyRequest, given: unknown, mode: BodyMode, path = ''): ReadBody {
    const shape = this.#shapeOf(request, mode);
    const body = this.#withUploads(request, given, shape);
    const { value, problems, limit } = shape.inspect(body, mode);
    const further = this.#extra?.[mode].inspect(body);
    const reserved = this.#reservedKeys.problemsOf(this.#meta, shape.fields, value);
    const faults = union(problems, [...(further?.problems ?? []), ...reserved]);
    this.checkRelated(request, [value], mode, faults);
    if (faults.length === 0) return validBody(value as object, path, further?.value as object | undefined);
    if (!isRecord(body)) throw invalidInput('body', faults);
    // If the list of faults was cut off, any value may be invalid.
    const sent = problems.length < limit ? { ...(value as Values) } : {};
    // The primary key is set when a record is created, and never changes.
    if (mode !== 'create') delete sent[this.#key];
    if (!this.isRuled && !shape.refers(sent, mode)) throw invalidInput('body', faults);
    const data = validFields(body, faults, (part) => shape.inspectPart(part, mode));
    const extra = this.#extra === undefined ? {} : validFields(body, faults, this.#extra.change.inspect);
    return { data, path, extra, faults, sent };
  }

  /**
   * Throws InvalidUsage if all bodies together name more related records than one body may, or than the number of
   * bodies if that is larger.
   *
   * @param values the values that were read from the bodies
   * @param faults the faults found before; a list that is too long is among them
   */
  checkRelated(request: FastifyRequest, values: readonly unknown[], mode: BodyMode, faults: readonly Problem[]): void {
    const { fields } = this.#shapeOf(request, mode);
    let count = 0;
    for (const each of values) count += countRelated(fields, each);
    if (count === 0) return;
    const max = Math.max(maxRelated(fields), values.length);
    if (count <= max) return;
    const message = `must name at most ${counted(max, 'related record')} in all of its lists`;
    throw invalidInput('body', faults.length > 0 ? faults : [{ path: '', message }]);
  }

  /**
   * Runs the rules of the view on a body, and returns all of its faults.
   *
   * @param record the record to change; undefined for a new record
   */
  async check(request: FastifyRequest, body: ReadBody, record?: object): Promise<readonly Problem[]> {
    const { validate } = this.#options;
    const { data, extra, faults } = body;
    if (validate === undefined) return faults;
    const added = new Problems(this.fields);
    const { fields } = this.of(request, record === undefined ? 'create' : 'update').shape;
    const after = valuesAfter(fields, data as Values, record as Values | undefined, faults);
    await validate({ ...data, ...extra }, added, request, record, after);
    return union(faults, added.found);
  }

  /**
   * Adds the values that the view sets to the data of a new record.
   *
   * @throws Forbidden if the path assigns the record to another owner than a permission does
   */
  async fill(request: FastifyRequest, data: object): Promise<object> {
    for (const [field, ownerOf] of this.#ownerFields) {
      if (keyText(keyOf(data[field as never])) !== keyText(ownerOf(request))) throw permissionDenied(request);
    }
    const values: Record<string, unknown> = {};
    for (const field of this.filled) values[field] = await this.#fills[field]!(request);
    return { ...data, ...values };
  }

  /** Replaces the upload names in a body by their files, as in a form. Names of unknown uploads stay. */
  #withUploads(request: FastifyRequest, body: unknown, { directFiles }: BoundWriteShape): unknown {
    const { uploads } = this;
    if (uploads === undefined || directFiles.length === 0 || !isRecord(body)) return body;
    const named: Record<string, unknown> = { ...body };
    for (const { name, sentAs, file } of directFiles) {
      const value = Object.hasOwn(body, sentAs) ? body[sentAs] : undefined;
      if (!isNamedUpload(value)) continue;
      named[sentAs] = uploads.open(file, uploadPlace(request, name), value.upload) ?? value;
    }
    return named;
  }

  #shapeOf(request: FastifyRequest, mode: BodyMode): BoundWriteShape {
    return this.of(request, operationOf(mode)).shape;
  }
}

/**
 * @throws ImproperlyConfigured if shapes have one file in different stores, because an upload begins before its shape
 * is known
 */
function checkStores(owner: string, files: readonly FileBoundField[]): void {
  const stores = new Map(files.map(({ name, file }) => [name, file.store]));
  const other = files.find(({ name, file }) => stores.get(name) !== file.store);
  if (other === undefined) return;
  throw new ImproperlyConfigured(
    `${owner}: the write shapes have "${other.name}" in two stores, and direct uploads need one store for it`,
  );
}

/** Returns the field and the user that an upload is bound to. */
export function uploadPlace(request: FastifyRequest, field: string): UploadPlace {
  const user = getCurrentUser(request);
  return { field, account: user === null ? null : String(user.id) };
}

function operationOf(mode: BodyMode): InputOperation {
  return mode === 'create' ? 'create' : 'update';
}

/**
 * Makes the values that a record would have after the write, for the body's valid fields that are not relations or
 * files.
 */
function valuesAfter(
  fields: BoundWriteShape['fields'],
  body: Values,
  record: Values | undefined,
  problems: readonly Problem[],
): Values {
  const wrong = fieldsOf(problems);
  const missing = fields.filter(
    ({ sentAs, reference, children, file }) => !(wrong.has(sentAs) || (reference ?? children ?? file)),
  );
  const source = (name: string): Values | undefined => (Object.hasOwn(body, name) ? body : record);
  return Object.fromEntries(missing.map(({ name }) => [name, source(name)?.[name]]));
}

/** Joins two lists of problems without duplicates. */
function union(found: readonly Problem[], more: readonly Problem[]): readonly Problem[] {
  if (more.length === 0) return found;
  const known = new Set(found.map(({ path, message }) => `${path} ${message}`));
  return [...found, ...more.filter(({ path, message }) => !known.has(`${path} ${message}`))];
}

/** Returns the names of the invalid fields. */
function fieldsOf(problems: readonly Problem[]): ReadonlySet<string | undefined> {
  return new Set(problems.map(({ path }) => path.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~')));
}

/** Reads the valid fields of a body. */
function validFields(body: Values, problems: readonly Problem[], inspect: Inspect): object {
  const wrong = fieldsOf(problems);
  const part = Object.fromEntries(Object.entries(body).filter(([name]) => !wrong.has(name)));
  const { value, problems: left } = inspect(part);
  return left.length === 0 && isRecord(value) ? value : {};
}
