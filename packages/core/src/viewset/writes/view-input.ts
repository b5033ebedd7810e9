import type { EntityMetadata, EntityName } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import type { Awaitable } from '../../awaitable.ts';
import { permissionDenied } from '../../current-user.ts';
import { ImproperlyConfigured } from '../../errors.ts';
import type { FileFields } from '../../files/file-field.ts';
import { fieldPath } from '../../fields/field-path.ts';
import { keyText, primaryKey } from '../../fields/primary-key.ts';
import { resolveOption } from '../../filters/filter.ts';
import { isRecord } from '../../json.ts';
import { keyOf } from '../../mikro/entity-reader.ts';
import { naming, wrongOption } from '../../options.ts';
import type { FillOf } from '../../permissions/permission.ts';
import { counted, invalidInput } from '../../schema/error-details.ts';
import type { Problem } from '../../schema/scan-input.ts';
import { compileInspect, type Inspect } from '../../schema/validator.ts';
import type { BodyMode } from '../../shapes/write/bound-input.ts';
import type { BodyDocument, BoundWriteShape } from '../../shapes/write/bound-write-shape.ts';
import { countRelated, maxRelated } from '../../shapes/write/related-items.ts';
import { joined, type ObjectSchema, partialOf } from '../../shapes/schema-object.ts';
import { toWriteShape, type WriteShape } from '../../shapes/write/write-shape.ts';
import { Problems } from './problems.ts';
import { type ReadBody, soundBody } from '../request/read-input.ts';
import { isShape } from '../answers/read-shapes.ts';

type Values = Readonly<Record<string, unknown>>;
type Shape = WriteShape<object, object> | ObjectSchema;

/** The options of a view about what it takes in. */
export interface InputOptions {
  readonly write?: Shape | { readonly create: Shape; readonly update: Shape };
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

/** The place of a view's input. */
export interface InputPlace {
  readonly name: string;
  readonly entity: EntityName<object>;
  readonly meta: EntityMetadata;
  /** The fields that the path of a nested view says. */
  readonly taken: readonly string[];
  /** The fields that permissions set on create. */
  readonly owned: Readonly<Record<string, FillOf>>;
}

/** All that a view takes in: the shapes of its bodies, further input for its hooks, its rules, and the fields that it sets itself. */
export class ViewInput {
  readonly create: BoundWriteShape<object>;
  readonly update: BoundWriteShape<object>;
  /** The fields that a body may have. */
  readonly fields: readonly string[];
  /** The files, by the names of their properties. */
  readonly files: FileFields;
  /** The properties that the view sets on create. */
  readonly filled: readonly string[];
  readonly #options: InputOptions;
  readonly #fills: Readonly<Record<string, FillOf>>;
  /** The fields that the path says, and that permissions want to be the user's own. */
  readonly #judged: readonly (readonly [field: string, own: FillOf])[];
  readonly #key: string;
  readonly #extra: Readonly<Record<BodyMode, TObject>> | undefined;
  readonly #inspectExtra: Readonly<Record<BodyMode, Inspect>> | undefined;

  constructor(options: InputOptions, { name, entity, meta, taken, owned }: InputPlace) {
    const { write, extra, fill = {} } = options;
    this.#options = options;
    this.#key = primaryKey(meta).key;
    for (const field of Object.keys(fill)) resolveOption(name, 'fill', field, () => fieldPath(meta, field, '.'));
    this.#fills = { ...owned, ...fill };
    this.#judged = Object.entries(owned).filter(([field]) => taken.includes(field));
    this.filled = Object.keys(this.#fills).filter((field) => !taken.includes(field));
    const { create, update } = isPair(write) ? write : { create: write, update: write };
    const bind = (option: string, shape: unknown): BoundWriteShape<object> => {
      checkWriteShape(name, shape);
      return naming(`${name}: option "${option}"`, () =>
        toWriteShape(entity, shape)
          .without([...taken, ...this.filled])
          .bind(meta),
      );
    };
    this.create = bind(isPair(write) ? 'write.create' : 'write', create);
    this.update = update === create ? this.create : bind('write.update', update);
    this.files = new Map([...this.create.files, ...this.update.files]);
    const shaped = [this.create, this.update].flatMap((shape) => shape.fields.map((field) => field.sentAs));
    const further = Object.keys(extra?.properties ?? {});
    const twice = further.find((field) => shaped.includes(field) || field in meta.properties);
    if (twice !== undefined) {
      throw new ImproperlyConfigured(
        `${name}: option "extra" names "${twice}", which is a property of ${meta.className}`,
      );
    }
    this.fields = [...new Set([...shaped, ...further])];
    if (extra === undefined) return;
    const [whole, part] = [extra as TObject, partialOf(extra as TObject)];
    this.#extra = { create: whole, replace: whole, change: part };
    const compiled = (schema: TObject): Inspect =>
      naming(`${name}: option "extra"`, () => compileInspect(schema, 'body'));
    const [inspect, inspectPart] = [compiled(whole), compiled(part)];
    this.#inspectExtra = { create: inspect, replace: inspect, change: inspectPart };
  }

  /** True if the view has rules. */
  get isRuled(): boolean {
    return this.#options.validate !== undefined;
  }

  /** The schemas of a body, for documents. */
  documented(mode: BodyMode): BodyDocument {
    const document = this.#shapeOf(mode).documented(mode);
    const extra = this.#extra?.[mode];
    if (extra === undefined) return document;
    const { json, form } = document;
    return { json: joined(json, extra), ...(form !== undefined && { form: joined(form, extra) }) };
  }

  /** The files of a body, by the names of its fields. */
  filesIn(mode: BodyMode): FileFields {
    const { fields } = this.#shapeOf(mode);
    return new Map(fields.flatMap(({ sentAs, file }) => (file === undefined ? [] : [[sentAs, file]])));
  }

  /** True if more than the schemas may find faults in a body of a kind: rules of the view, or the look-up of other records. */
  findsMore(mode: BodyMode): boolean {
    const { fields } = this.#shapeOf(mode);
    return this.isRuled || fields.some(({ reference, children }) => (reference ?? children) !== undefined);
  }

  /**
   * Reads a body. If the view has rules, or the body names other records, its faults come with the values that have none: rules and
   * references may add to them.
   *
   * @param path leads to the body within the body of the request
   * @throws InvalidUsage with a detail for every offending field, if nothing can add to them
   */
  read(body: unknown, mode: BodyMode, path = ''): ReadBody {
    const shape = this.#shapeOf(mode);
    const { value, problems, limit } = shape.inspect(body, mode);
    const further = this.#inspectExtra?.[mode](body);
    const faults = union(problems, further?.problems ?? []);
    this.checkRelated([value], mode, faults);
    if (faults.length === 0) return soundBody(value as object, path, further?.value as object | undefined);
    if (!isRecord(body)) throw invalidInput('body', faults);
    // If only some of the faults are named, no value is known to be sound.
    const sent = problems.length < limit ? { ...(value as Values) } : {};
    // The primary key of a record is chosen when it is created, and stays.
    if (mode !== 'create') delete sent[this.#key];
    if (!this.isRuled && !shape.refers(sent, mode)) throw invalidInput('body', faults);
    const data = soundPart(body, faults, (part) => shape.inspectPart(part, mode));
    const inspectPart = this.#inspectExtra?.change;
    const extra = inspectPart === undefined ? {} : soundPart(body, faults, inspectPart);
    return { data, path, extra, faults, sent };
  }

  /**
   * Throws InvalidUsage if bodies name more related records in all than one may.
   *
   * @param values what was read of the bodies
   * @param faults the faults that were found in them, which name the list that is too long by itself
   */
  checkRelated(values: readonly unknown[], mode: BodyMode, faults: readonly Problem[]): void {
    const { fields } = this.#shapeOf(mode);
    let count = 0;
    for (const each of values) count += countRelated(fields, each);
    if (count === 0) return;
    const max = Math.max(maxRelated(fields), values.length);
    if (count <= max) return;
    const message = `must name at most ${counted(max, 'related record')} in all of its lists`;
    throw invalidInput('body', faults.length > 0 ? faults : [{ path: '', message }]);
  }

  /**
   * Asks the rules of the view about a body, and returns all of its faults.
   *
   * @param record the record that is changed; undefined for a new one
   */
  async check(request: FastifyRequest, body: ReadBody, record?: object): Promise<readonly Problem[]> {
    const { validate } = this.#options;
    const { data, extra, faults } = body;
    if (validate === undefined) return faults;
    const added = new Problems(this.fields);
    const after = this.#after(data as Values, record as Values | undefined, faults);
    await validate({ ...data, ...extra }, added, request, record, after);
    return union(faults, added.found);
  }

  /** Makes the values that a record would have after the write, of the fields of the body that are its own. One with a fault has none. */
  #after(body: Values, record: Values | undefined, problems: readonly Problem[]): Values {
    const { fields } = record === undefined ? this.create : this.update;
    const wrong = fieldsOf(problems);
    const own = fields.filter(
      ({ sentAs, reference, children, file }) => !(wrong.has(sentAs) || (reference ?? children ?? file)),
    );
    const source = (name: string): Values | undefined => (Object.hasOwn(body, name) ? body : record);
    return Object.fromEntries(own.map(({ name }) => [name, source(name)?.[name]]));
  }

  /**
   * Adds the values that the view sets to the data of a new record.
   *
   * @throws Forbidden if the path gives the record to somebody else than a permission does
   */
  async fill(request: FastifyRequest, data: object): Promise<object> {
    for (const [field, own] of this.#judged) {
      if (keyText(keyOf(data[field as never])) !== keyText(own(request))) throw permissionDenied(request);
    }
    const values: Record<string, unknown> = {};
    for (const field of this.filled) values[field] = await this.#fills[field]!(request);
    return { ...data, ...values };
  }

  #shapeOf(mode: BodyMode): BoundWriteShape<object> {
    return mode === 'create' ? this.create : this.update;
  }
}

function isPair(write: InputOptions['write']): write is { readonly create: Shape; readonly update: Shape } {
  return isRecord(write) && 'create' in write && 'update' in write;
}

function checkWriteShape(name: string, shape: unknown): asserts shape is WriteShape<object, object> {
  if (isShape(shape)) return;
  throw wrongOption(name, 'write', 'a writeShape() or a Type.Object(), or { create, update } of such', shape);
}

/** Lists problems once each. */
function union(found: readonly Problem[], more: readonly Problem[]): readonly Problem[] {
  if (more.length === 0) return found;
  const known = new Set(found.map(({ path, message }) => `${path} ${message}`));
  return [...found, ...more.filter(({ path, message }) => !known.has(`${path} ${message}`))];
}

/** The names of the fields at fault. */
function fieldsOf(problems: readonly Problem[]): ReadonlySet<string | undefined> {
  return new Set(problems.map(({ path }) => path.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~')));
}

/** Reads the fields of a body that have no fault. */
function soundPart(body: Values, problems: readonly Problem[], inspect: Inspect): object {
  const wrong = fieldsOf(problems);
  const part = Object.fromEntries(Object.entries(body).filter(([name]) => !wrong.has(name)));
  const { value, problems: left } = inspect(part);
  return left.length === 0 && isRecord(value) ? value : {};
}
