import type { EntityMetadata, FilterOptions, MikroORM } from '@mikro-orm/core';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { requireSync } from '../../support/awaitable.ts';
import { fieldPath } from '../../fields/field-path.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import type { StoredFile } from '../../files/file-type.ts';
import { PendingFile } from '../../files/pending-file.ts';
import { filtersPutOn } from '../../mikro/filters.ts';
import { rememberMembers } from '../../mikro/hidden-members.ts';
import { prefixErrors } from '../../errors/options.ts';
import type { PermissionView } from '../../permissions/permission.ts';
import { backendOf } from '../../query/backend-of.ts';
import { replacedRelations } from '../../shapes/write/assign-input.ts';
import { mergeEmbeddables } from '../../shapes/write/embedded-parts.ts';
import type { BoundField, Reference } from '../../shapes/write/bound-input.ts';
import { invalidInput } from '../../schema/error-details.ts';
import { placedAt, type Problem } from '../../schema/scan-input.ts';
import { absentAt, type FindReferred, type RecordData } from '../../shapes/write/references.ts';
import { type FileChanges, fileChangesOf } from '../files/file-changes.ts';
import { KeptFiles } from '../files/kept-files.ts';
import { type ReferenceOptions, ReferredRecords } from './referred-records.ts';
import { faultsIn, type ReadBody } from '../request/read-input.ts';
import { inputOf, stateOf } from '../request/request-state.ts';
import { lookUpSent } from '../records/database-rejections.ts';
import type { ShownRecords } from '../records/shown-records.ts';
import type { ViewInput } from './view-input.ts';

/** The part of a view that its input uses. */
export interface InputView extends PermissionView {
  getQueryset(request: FastifyRequest): { readonly filters: FilterOptions | undefined };
}

/** Where a view is registered: its application, and the relation that its path sets. */
interface InputPlace {
  readonly orm: MikroORM;
  readonly log: FastifyBaseLogger;
  readonly parent?: { readonly relation: string } | undefined;
}

/** The maximum number of bodies whose files are stored at the same time. */
const STORED_AT_ONCE = 20;

/** A body to write. */
interface WrittenBody {
  readonly body: ReadBody;
  /** The data to write, from the body and the path. */
  readonly data: object;
  /** The record to change; undefined for a new record. */
  readonly entity?: object;
}

/** A valid body for the hooks. Its references are entities, and its files are stored. */
export interface ResolvedBody {
  /** Its JSON pointer in the body of the request. */
  readonly path: string;
  readonly data: object;
  /** The values of the option `extra`. */
  readonly extra: object;
}

/** Turns bodies into data to write: finds the entities of references, and stores the files of forms. */
export class InputResolution {
  readonly #view: InputView;
  readonly #input: ViewInput | undefined;
  readonly #referred: ReferredRecords;
  /** Undefined if no record of the view has a file. */
  readonly #fileChanges: FileChanges | undefined;
  readonly #keptFiles: KeptFiles;

  /** @throws ImproperlyConfigured for an option about references that names no reference */
  constructor(
    view: InputView,
    input: ViewInput | undefined,
    options: ReferenceOptions,
    meta: EntityMetadata,
    { orm, log, parent }: InputPlace,
  ) {
    this.#view = view;
    this.#input = input;
    this.#keptFiles = new KeptFiles(meta);
    const references = referencesOf(input);
    for (const [field, [reference]] of references) {
      if (reference === undefined) continue;
      prefixErrors(`${view.name}: "${field}" refers to`, () => backendOf(orm.em).checkEntity(reference.target), ' ');
    }
    this.#referred = new ReferredRecords(view, references, referenceOptions(options, parent));
    if (input === undefined || input.files.size === 0) return;
    this.#fileChanges = fileChangesOf(orm, log);
    for (const [field, { store }] of input.files) this.#fileChanges.declareStore(meta, field, store);
  }

  /** Finds the views of the option `referenceViews`, after all views are registered. */
  findViews(registered: readonly ShownRecords[]): void {
    this.#referred.findViews(registered);
  }

  /**
   * Runs the view's rules on bodies, replaces references by the related entities, stores files, and loads the relations
   * that bodies replace.
   *
   * @throws InvalidUsage for all faults: of the schemas, of the rules, and of references to records that the request
   * may not refer to
   */
  async resolve(
    request: FastifyRequest,
    operation: 'create' | 'update',
    sent: readonly WrittenBody[],
  ): Promise<ResolvedBody[]> {
    const input = this.#input!;
    const faults: Problem[] = [];
    const bodies = await this.#withoutLinks(request, operation, sent, faults);
    for (const { body, entity } of bodies) {
      faults.push(...placedAt(body.path, await input.check(request, body, entity)));
    }
    const records: RecordData[] = [];
    for (const { body, data, entity } of bodies) {
      const isFilled = faults.length === 0 && operation === 'create';
      const filled = isFilled ? await input.fill(request, data) : (body.sent ?? data);
      records.push({ data: filled, path: body.path, entity });
    }
    const resolved = await this.#resolveRecords(request, operation, records, faults);
    stateOf(request).resolved = new Map(
      bodies.map(({ body, entity }, index) => [body.path, { data: resolved[index]!, entity }]),
    );
    return bodies.map(({ body }, index) => ({ path: body.path, data: resolved[index]!, extra: body.extra }));
  }

  /** Throws the faults that the schemas found in a request's input, if any, together with faults of its references. */
  async throwBodyErrors(request: FastifyRequest, operation: 'create' | 'update'): Promise<void> {
    const input = inputOf(request);
    const faults = faultsIn(input);
    if (faults.length === 0) return;
    const records = input.bodies.map(({ data, sent, path }) => ({ data: sent ?? data, path }));
    await this.#resolveRecords(request, operation, records, faults);
  }

  async #resolveRecords(
    request: FastifyRequest,
    operation: 'create' | 'update',
    records: readonly RecordData[],
    faults: readonly Problem[],
  ): Promise<object[]> {
    const { em } = request;
    const write = this.#input!.of(request, operation).shape;
    const changed = records.flatMap(({ entity }) => entity ?? []);
    const relations = changed.length === 0 ? [] : records.flatMap(({ data }) => replacedRelations(write.fields, data));
    const filters = write.references.size + relations.length > 0 ? this.#filtersFor(request) : {};
    if (relations.length > 0) {
      rememberMembers(em, changed, new Set(relations));
      await em.populate(changed, [...new Set(relations)] as never[], { filters });
    }
    const find: FindReferred = (reference, condition, mentions) =>
      lookUpSent(
        request,
        { meta: reference.target, column: fieldPath(reference.target, reference.key, '.') },
        mentions,
        (refused) => invalidInput('body', [...faults, ...refused.map(({ path }) => absentAt(path, reference))]),
        () => this.#referred.find(request, reference, condition, filters),
      );
    const missing = [...faults];
    for (const { data, path, entity } of records) {
      if (entity !== undefined) mergeEmbeddables(write.fields, data, entity, path, missing);
    }
    const found = await write.resolveReferences(em, records, find, missing);
    const resolved = found.map((data, index) => {
      const { entity } = records[index]!;
      return entity === undefined ? data : mergeEmbeddables(write.fields, data, entity, '', []);
    });
    if (write.files.size === 0) return resolved;
    const stored: object[] = [];
    for (let start = 0; start < resolved.length; start += STORED_AT_ONCE) {
      const some = resolved.slice(start, start + STORED_AT_ONCE).map((data, index) => {
        return this.#storeFiles(request, write.fields, data, records[start + index]!);
      });
      stored.push(...(await allDone(some)));
    }
    return stored;
  }

  /** Removes the links of files that records keep, so that hooks see no change. Other links are faults. */
  async #withoutLinks(
    request: FastifyRequest,
    operation: 'create' | 'update',
    bodies: readonly WrittenBody[],
    faults: Problem[],
  ): Promise<readonly WrittenBody[]> {
    const { fields, files } = this.#input!.of(request, operation).shape;
    if (files.size === 0 || operation === 'create') return bodies;
    const found: WrittenBody[] = [];
    for (const { body, data, entity } of bodies) {
      const bodyProblems: Problem[] = [];
      const without = <Values extends object>(values: Values, problems: Problem[]): Promise<Values> =>
        this.#keptFiles.withoutLinks(request.em, fields, values, entity, problems);
      const kept = {
        ...body,
        data: await without(body.data, bodyProblems),
        sent: body.sent && (await without(body.sent, [])),
      };
      faults.push(...placedAt(body.path, bodyProblems));
      found.push({ body: kept, data: await without(data, []), ...(entity && { entity }) });
    }
    return found;
  }

  /** Returns the MikroORM filters that the view's query set enables. */
  #filtersFor(request: FastifyRequest): FilterOptions {
    const records = requireSync(this.#view.getQueryset(request), () => `${this.#view.name}: getQueryset()`);
    return filtersPutOn(records.filters);
  }

  /** Stores the files of a body, and replaces each by its stored form for the record. */
  async #storeFiles(
    { em }: FastifyRequest,
    fields: readonly BoundField[],
    data: object,
    { path: place, entity }: RecordData,
  ): Promise<object> {
    const stored: Record<string, unknown> = { ...data };
    for (const { name, path, file } of fields) {
      const pending = stored[name];
      if (file === undefined || !(pending instanceof PendingFile)) continue;
      try {
        const replaced = (entity as Readonly<Record<string, StoredFile | null>> | undefined)?.[name];
        stored[name] = storedNow(await this.#fileChanges!.store(em, file, pending), replaced);
      } catch (error) {
        if (!(error instanceof FieldValueError)) throw error;
        throw invalidInput('body', [{ path: place + path, message: error.message }]);
      }
    }
    return stored;
  }
}

const SECOND_MS = 1000;

/**
 * Notes when a file was stored: in a later second than the file that it replaces, because dates of HTTP have only
 * seconds. With one date for both, a client would join the beginning of one file and the end of the other.
 */
function storedNow(file: StoredFile, replaced: StoredFile | null | undefined): StoredFile {
  const before = Math.floor(Date.parse(replaced?.storedAt ?? '') / SECOND_MS) * SECOND_MS;
  const now = Date.now();
  const storedAt = before + SECOND_MS > now ? before + SECOND_MS : now;
  return { ...file, storedAt: new Date(storedAt).toISOString() };
}

/**
 * Waits for all, so that no file is still being stored after another has failed the request. Throws the first error.
 */
async function allDone<Result>(works: readonly Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

/**
 * Returns the options about references without the parent relation. Only the path refers to a parent, and the parent's
 * view checks it.
 */
function referenceOptions(
  { referencePermissions, referenceViews }: ReferenceOptions,
  parent: InputPlace['parent'],
): ReferenceOptions {
  const without = <Value extends object>(declared: Value | undefined): Value => {
    const { [parent?.relation as keyof Value]: _parent, ...others } = { ...declared } as Value;
    return others as Value;
  };
  return { referencePermissions: without(referencePermissions), referenceViews: without(referenceViews) };
}

/** Returns the references of all bodies of a view, by path. */
function referencesOf(input: ViewInput | undefined): ReadonlyMap<string, readonly Reference[]> {
  const found = new Map<string, Reference[]>();
  for (const { references } of input?.shapes ?? []) {
    for (const [path, reference] of references) found.set(path, [...(found.get(path) ?? []), reference]);
  }
  return found;
}
