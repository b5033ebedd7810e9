import type { Multipart } from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { finished } from 'node:stream/promises';
import type { TObject } from 'typebox';
import { HttpError, ParseError, PayloadTooLarge } from '../errors/errors.ts';
import type { FileField } from '../files/file-field.ts';
import { StagedFile } from '../files/staged-file.ts';
import { REFERENCE_MARK } from '../fields/reference-to.ts';
import { pointerStep } from '../support/json.ts';
import type { BodyForm } from '../view/setup/operation-schemas.ts';
import type { AnySchema } from '../schema/json-schema.ts';
import { invalidInput } from '../schema/error-details.ts';
import { FORM_TYPE } from './declared-routes.ts';
import { unreadable } from './reading-error.ts';
import { isUnsafeName } from '../schema/scan-input.ts';
import { formReader, rememberRoundedTexts } from '../schema/text-reader.ts';
import { compileInspect } from '../schema/validator.ts';
import { partialOf } from '../shapes/schema-object.ts';

/** The maximum number of fields in a form, and of files. More give 413. */
const MAX_FIELDS = 1000;
const MAX_FILES = 100;

/** A file name that is empty without its path, such as `folder/` or `..`. */
const NO_NAME = /(?:^|[/\\])\.{0,2}$/;

/** The requests whose body is a form that has not been read yet. */
const forms = new WeakSet<FastifyRequest>();

/** Reports whether the body of a request is a form. */
export function isForm(request: FastifyRequest): boolean {
  return forms.has(request);
}

/**
 * Makes a scope accept `multipart/form-data`, and leaves the body for `formReading`. The parser of `@fastify/multipart`
 * is not used: with `attachFieldsToBody`, a plugin at the root reads all forms that it knows of into memory.
 */
export function acceptForms(app: FastifyInstance): void {
  app.removeContentTypeParser(FORM_TYPE);
  app.addContentTypeParser(FORM_TYPE, (request, _payload, done) => {
    forms.add(request);
    done(null);
  });
}

type FormReader = (request: FastifyRequest, reply: FastifyReply) => Promise<Record<string, unknown>>;

/**
 * Makes the reader of `multipart/form-data` bodies (RFC 7578). It returns the values that a JSON body would have. Files
 * are stored temporarily until the response is sent. Undeclared files are read and dropped, like unknown properties.
 */
export function formReading(form: BodyForm): FormReader {
  const readersOf = new Map(form.kinds.map(({ schema, files }) => [files, fieldReaders(schema)]));
  const largest = [...readersOf.keys()].flatMap((files) => [...files.values()].map(({ maxBytes }) => maxBytes));
  const fileSize = Math.max(...largest) + 1;

  return async (request, reply) => {
    const { files } = form.of(request);
    const { bodyLimit } = request.routeOptions;
    const limits = { fileSize, fieldSize: bodyLimit, fields: MAX_FIELDS, files: MAX_FILES };
    const parts = new Form(files, bodyLimit);
    // `parts()` asks for it.
    request.isMultipart = () => true;
    try {
      // Without `preservePath`, the parser would return an empty name for a path that ends in a folder.
      for await (const part of request.parts({ limits, preservePath: true })) await parts.add(part);
      parts.throwIfFaulty();
    } catch (error) {
      await parts.discard();
      // The rest of the body is not read, so the connection must close.
      void reply.header('connection', 'close');
      throw formError(error, request);
    }
    const discard = (): void =>
      void parts.discard().catch((err: unknown) => request.log.warn({ err }, 'a temporary file is left'));
    if (reply.raw.closed) discard();
    else reply.raw.once('close', discard);
    return parts.body(readersOf.get(files)!);
  };
}

/** True if values are fields of another entity's records. */
function refersTo(schema: object): boolean {
  const { anyOf = [] } = schema as { readonly anyOf?: readonly object[] };
  return REFERENCE_MARK in schema || anyOf.some(refersTo);
}

type FieldReaders = ReadonlyMap<string, (value: unknown) => unknown>;

/**
 * Makes the readers of a form's fields. Inputs of browsers send an empty text for no value. So it is null if the field
 * can be null and cannot be an empty text: a date, an enum, a number, a text of at least one character. Nor is an empty
 * text the name of a related record.
 */
function fieldReaders(schema: TObject): FieldReaders {
  const inspect = compileInspect(partialOf(schema), 'body');
  const isValid = (name: string, value: unknown): boolean => {
    const path = pointerStep(name);
    return inspect({ [name]: value }).problems.every((problem) => problem.path !== path);
  };
  const readers = Object.entries(schema.properties).map(([name, child]): [string, (value: unknown) => unknown] => {
    const read = formReader(child as AnySchema);
    const isNullIfEmpty = isValid(name, null) && (refersTo(child) || !isValid(name, ''));
    return [name, isNullIfEmpty ? (value) => (value === '' ? null : read(value)) : read];
  });
  return new Map(readers);
}

/** The parts of a form that have been received. */
class Form {
  readonly #files: ReadonlyMap<string, FileField>;
  readonly #staged = new Map<string, StagedFile>();
  readonly #texts = new Map<string, unknown[]>();
  readonly #faults = new Map<string, string>();
  #textBytesLeft: number;

  constructor(files: ReadonlyMap<string, FileField>, maxTextBytes: number) {
    this.#files = files;
    this.#textBytesLeft = maxTextBytes;
  }

  async add(part: Multipart): Promise<void> {
    const { fieldname } = part as { readonly fieldname: string | undefined };
    if (fieldname === undefined) throw new ParseError('Each part of a form must have a name');
    const name = part.type === 'file' ? fieldNamed(fieldname, this.#files).name : fieldname;
    if (part.type === 'field') {
      this.#textBytesLeft -= Buffer.byteLength(name) + Buffer.byteLength(String(part.value));
      if (part.valueTruncated || part.fieldnameTruncated || this.#textBytesLeft < 0) throw new PayloadTooLarge();
      this.#texts.set(name, [...(this.#texts.get(name) ?? []), part.value]);
      return;
    }
    const field = this.#files.get(name);
    // Browsers send an empty file without a name for a file input without a selection.
    const isUntouched = part.filename === undefined || part.filename === '';
    const isNamed = isUntouched || !NO_NAME.test(part.filename);
    if (field === undefined || isUntouched || !isNamed || this.#staged.has(name)) {
      if (this.#staged.has(name)) this.#faults.set(name, 'must be one file');
      else if (field !== undefined && !isNamed) this.#faults.set(name, 'must be a file with a name');
      await finished(part.file.resume());
      return;
    }
    const sent = { name: part.filename, type: part.mimetype, content: part.file };
    this.#staged.set(name, await StagedFile.stage(field, sent));
  }

  throwIfFaulty(): void {
    const problems = [...this.#faults].map(([name, message]) => ({ path: pointerStep(name), message }));
    if (problems.length > 0) throw invalidInput('body', problems);
  }

  body(readers: FieldReaders): Record<string, unknown> {
    const fields = new Map<string, { readonly values: readonly unknown[]; readonly isList: boolean }>();
    for (const [sent, values] of this.#texts) {
      if (isUnsafeName(sent)) continue;
      const { name, isList } = fieldNamed(sent, readers);
      const known = fields.get(name);
      fields.set(name, { values: [...(known?.values ?? []), ...values], isList: isList || known?.isList === true });
    }
    const body: Record<string, unknown> = {};
    for (const [name, { values, isList }] of fields) {
      const value = isList || values.length > 1 ? values : values[0];
      const read = readers.get(name);
      body[name] = read === undefined ? value : read(value);
      rememberRoundedTexts(body, name, value, body[name]);
    }
    for (const [name, staged] of this.#staged) body[name] = staged;
    return body;
  }

  async discard(): Promise<void> {
    await Promise.all([...this.#staged.values()].map((staged) => staged.discard()));
  }
}

/**
 * Finds the field that a part of a form belongs to: `labels[]` is an item of the list `labels`, as in many front ends.
 *
 * @throws InvalidUsage for a name such as `labels[0]` or `address.city`, whose value would be lost
 */
function fieldNamed(sent: string, known: { has(name: string): boolean }): { name: string; isList: boolean } {
  const [, name = '', rest] = /^([^[.]+)([[.].*)$/s.exec(sent) ?? [];
  if (name === '' || known.has(sent) || !known.has(name)) return { name: sent, isList: false };
  if (rest === '[]') return { name, isList: true };
  const message = `must be sent as ${JSON.stringify(name)}: a list as several fields of this name, an object as JSON`;
  throw invalidInput('body', [{ path: pointerStep(sent), message }]);
}

/** Converts an error of the parser into an error of the library. `@fastify/multipart` distinguishes them by status. */
function formError(error: unknown, request: FastifyRequest): unknown {
  if (error instanceof HttpError || !(error instanceof Error)) return error;
  const { code = '', statusCode } = error as { code?: string; statusCode?: number };
  if (statusCode === 413) return new PayloadTooLarge(undefined, { cause: error });
  // The parser calls the boundary "needle" and limits its length.
  const isUnreadable = code.startsWith('FST_') || /multipart|part |boundary|terminated|needle/i.test(error.message);
  return isUnreadable ? unreadable(new ParseError('The form could not be read', { cause: error }), request) : error;
}
