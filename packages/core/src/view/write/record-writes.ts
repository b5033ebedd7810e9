import type { EntityName } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { Awaitable } from '../../support/awaitable.ts';
import { permissionDenied } from '../../http/current-user.ts';
import { NotStored } from '../../backends/backend.ts';
import { HttpError } from '../../errors/errors.ts';
import { isRecord } from '../../support/json.ts';
import { compare } from '../../query/language/compare.ts';
import { type Keyed, withKey } from '../../query/language/projection.ts';
import { assignValues } from '../../mikro/assign-values.ts';
import { removeEntity } from '../../mikro/remove-entity.ts';
import { invalidInput } from '../../schema/error-details.ts';
import {
  assignInput,
  changesIn,
  deleteLeftOut,
  type EntityChange,
  makeRecord,
} from '../../shapes/write/assign-input.ts';
import type { BoundField } from '../../shapes/write/bound-input.ts';
import { keyOfEntity, keyText } from '../../fields/primary-key.ts';
import { type RecordOutputOf, markShapedByClient, recordOf } from '../request/record-output.ts';
import { makeRoom } from './exchanged-values.ts';
import { noteRejection, type Written } from './conflicts.ts';
import { OPERATION, type InputOperation, type WriteOperation } from '../request/operation.ts';
import type { ReadBody } from '../request/read-input.ts';
import { inputOf, stateOf } from '../request/request-state.ts';
import type { WritingDefinition } from './writing-definition.ts';
import { inTransaction, isCommitError } from './transaction.ts';
import type { VisibleRecords } from '../records/visible-records.ts';
import { type WrittenRecord, writtenRecords } from '../request/written-records.ts';

/** The steps that the writes of a view share. */
export class RecordWrites<Entity extends object> {
  readonly #entity: EntityName<Entity>;
  readonly #definition: WritingDefinition;
  readonly #records: VisibleRecords<Entity>;

  constructor(entity: EntityName<Entity>, definition: WritingDefinition, records: VisibleRecords<Entity>) {
    this.#entity = entity;
    this.#definition = definition;
    this.#records = records;
  }

  /** Marks a record for the next flush to delete, or to mark as deleted if a feature of the view does so. */
  remove({ em }: FastifyRequest, entity: Entity): void {
    const { deletion } = this.#definition.features;
    if (deletion === undefined) removeEntity(em, entity);
    else assignValues(em, entity, deletion.values());
  }

  /** Makes the entity of a new record. The next flush stores it. */
  async make(request: FastifyRequest, data: object): Promise<Entity> {
    const fields = this.#fieldsOf(request, 'create');
    this.#checkKey(data);
    return await this.guard(request, () => makeRecord(request.em, this.#entity, data, fields));
  }

  /** Stores the changes of a record and of its children. */
  async assign(request: FastifyRequest, entity: Entity, data: object): Promise<void> {
    const fields = this.#fieldsOf(request, 'update');
    this.#checkKey(data);
    // An action may update a record by POST.
    const { em } = request;
    await this.removeLeftOut(request, entity, data);
    await this.exchanging(request, changesIn(entity, data, fields), async () => {
      await this.guard(request, () => assignInput(em, entity, data, fields, request.method === 'PUT'), false);
    });
  }

  /** Deletes the children that the data of an update does not list. */
  async removeLeftOut(request: FastifyRequest, entity: object, data: object): Promise<void> {
    const fields = this.#fieldsOf(request, 'update');
    await this.guard(request, () => deleteLeftOut(request.em, entity, data, fields), false);
  }

  /** Runs a write in a transaction. A deferred constraint, which is checked at its end, is a conflict of the body too. */
  async inTransaction<Result>(request: FastifyRequest, work: () => Promise<Result>): Promise<Result> {
    try {
      return await inTransaction(request, work);
    } catch (error) {
      const isNew = request.method === 'POST';
      if (isCommitError(error)) noteRejection(request, error, () => this.#written(request, isNew), false);
      throw error;
    }
  }

  /** Writes one of several bodies. A conflict in the meantime is about this body. */
  async writeAlone<Result>(request: FastifyRequest, path: string, write: () => Promise<Result>): Promise<Result> {
    const state = stateOf(request);
    state.writing = path;
    try {
      return await write();
    } finally {
      state.writing = undefined;
    }
  }

  /** Runs a write of several records. Their unique values may pass from one to another. */
  async exchanging(
    request: FastifyRequest,
    changes: readonly EntityChange[],
    write: () => Promise<void>,
  ): Promise<void> {
    const correct = await this.guard(request, () => makeRoom(request, changes), false);
    await write();
    await this.guard(request, correct, false);
  }

  /** Flushes the changes of the view's own records. */
  async flush(request: FastifyRequest): Promise<void> {
    await this.guard(request, () => request.em.flush());
  }

  /** Waits for a lookup of records. If it fails with an HttpError, errors of the body take precedence. */
  async bodyErrorsFirst<Found>(
    request: FastifyRequest,
    operation: WriteOperation,
    found: Promise<Found>,
  ): Promise<Found> {
    try {
      return await found;
    } catch (error) {
      const hasBody = error instanceof HttpError && operation !== 'destroy';
      if (hasBody) await this.#definition.resolution.throwBodyErrors(request, operation);
      throw error;
    }
  }

  /** Reads records as stored in the database, by one statement, in the order of their entities. */
  async readAllStored<Output extends object>(
    request: FastifyRequest,
    output: RecordOutputOf<Output>,
    entities: readonly Entity[],
  ): Promise<Output[]> {
    return this.#readEach(request, output, entities, (entity) => this.#readHidden(request, output, entity));
  }

  /**
   * Writes records of the view, and notifies the view's listeners within the transaction.
   *
   * @param found the entities before the write; empty for new records
   * @param write returns the entities that it has written
   */
  async writeAndNotify(
    request: FastifyRequest,
    operation: WriteOperation,
    found: readonly Entity[],
    write: () => Promise<readonly Entity[]>,
  ): Promise<readonly Entity[]> {
    const { recorder } = this.#definition.features;
    const kind = OPERATION[operation].write.kind;
    if (recorder === undefined) return this.#notifying(request, operation, found, write);
    return recorder.of(request).operation(kind, found, () => this.#notifying(request, operation, found, write));
  }

  /** Flushes what the hooks have changed last, so that the record is read as it will be stored. */
  async #notifying(
    request: FastifyRequest,
    operation: WriteOperation,
    found: readonly Entity[],
    write: () => Promise<readonly Entity[]>,
  ): Promise<readonly Entity[]> {
    const { meta, outputs, features } = this.#definition;
    const listeners = features.listeners[operation];
    if (listeners.length === 0) {
      const entities = await write();
      await this.flush(request);
      return entities;
    }
    const output = outputs.defaultFor('retrieve');
    const show = (entities: readonly Entity[]): Promise<object[]> =>
      this.#readEach(request, output, entities, (entity) => recordOf(request, output, entity));
    const work = request.em.getUnitOfWork();
    const before = found.map((entity) => ({
      key: this.#keyOf(entity),
      values: { ...work.getOriginalEntityData(entity) },
    }));
    const recordsBefore = operation === 'destroy' ? await show(found) : undefined;
    const entities = await write();
    await this.flush(request);
    const records = recordsBefore ?? (await show(entities));
    const writes = entities.map((entity, index) => ({
      kind: OPERATION[operation].write.kind,
      request,
      meta,
      key: before[index]?.key ?? this.#keyOf(entity),
      entity,
      before: before[index]?.values,
      record: records[index]!,
    }));
    for (const { listener } of listeners) await listener(writes);
    return entities;
  }

  /**
   * Reads records as stored in the database, by one statement, in the order of their entities. Calls `otherwise` for
   * records that the statement does not see.
   */
  async #readEach<Shown extends object>(
    request: FastifyRequest,
    output: RecordOutputOf<Shown>,
    entities: readonly Entity[],
    otherwise: (entity: Entity) => Promise<Shown>,
  ): Promise<Shown[]> {
    const { pk } = this.#definition;
    const keys = entities.map((entity) => this.#keyOf(entity));
    const stored = markShapedByClient(this.#records.afterWrite(request, compare(pk, 'in', keys)), output);
    const rows = await stored.rows(withKey(output.records, pk));
    const byKey = new Map(rows.map(({ key, record }) => [keyText(key), record]));
    const records: Shown[] = [];
    for (const [index, entity] of entities.entries()) {
      records.push(byKey.get(keyText(keys[index])) ?? (await otherwise(entity)));
    }
    return records;
  }

  /**
   * Reads a record as stored in the database, because defaults, rounding and triggers are not predictable. Throws if
   * the record has left the scope of the user who wrote it, which rolls the write back.
   */
  async readStored<Output extends object>(
    request: FastifyRequest,
    output: RecordOutputOf<Output>,
    entity: Entity,
  ): Promise<Keyed<Output>> {
    const { pk, key } = this.#definition;
    const stored = markShapedByClient(
      this.#records.afterWrite(request, compare(pk, 'exact', this.#keyOf(entity))),
      output,
    );
    const record = await stored.first(output.keyed);
    if (record !== undefined) return record;
    const named: unknown = entity[key.column.property.name as keyof Entity];
    return { key: named, record: await this.#readHidden(request, output, entity) };
  }

  /**
   * Returns a record that can no longer be read because a filter hides it. Throws if the request has a scope, because
   * the write has taken the record out of it.
   */
  #readHidden<Output extends object>(
    request: FastifyRequest,
    output: RecordOutputOf<Output>,
    entity: Entity,
  ): Promise<Output> {
    if (stateOf(request).grant?.scope !== undefined) throw permissionDenied(request);
    return recordOf(request, output, entity);
  }

  /**
   * Checks the data that the view's code passes on. It may have computed a key from the body, such as a slug.
   *
   * @throws InvalidUsage for a reserved key
   */
  #checkKey(data: object): void {
    const { meta, reservedKeys } = this.#definition;
    const problems = Object.entries(data).flatMap(([name, value]) => reservedKeys.problemOf(meta, name, value) ?? []);
    if (problems.length > 0) throw invalidInput('body', problems);
  }

  #fieldsOf(request: FastifyRequest, operation: InputOperation): readonly BoundField[] {
    return this.#definition.input?.of(request, operation).shape.fields ?? [];
  }

  #keyOf(entity: Entity): unknown {
    const key = keyOfEntity(entity, this.#definition.pk);
    if (key === undefined || key === null) throw new NotStored(this.#definition.meta);
    return key;
  }

  /**
   * Runs a statement that writes the view's own records. If the database rejects a value of the body, the error is kept
   * for the response.
   */
  async guard<Result>(
    request: FastifyRequest,
    work: () => Awaitable<Result>,
    isNew = request.method === 'POST',
  ): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      noteRejection(request, error, () => this.#written(request, isNew));
      throw error;
    }
  }

  #written(request: FastifyRequest, isNew: boolean): Written {
    const { nesting, features } = this.#definition;
    const messages = features.refusals;
    const parent = nesting && { relation: nesting.relation, parameter: nesting.parent.parameter };
    // A destroy writes no values. It can only fail because other records refer to its record.
    if (request.method === 'DELETE') return { records: [], parent, messages };
    const { writing } = stateOf(request);
    const bodies = inputOf(request).bodies.filter(({ path }) => writing === undefined || path === writing);
    return { records: bodies.flatMap((body) => this.#recordsOf(request, body, isNew)), parent, messages };
  }

  #recordsOf(request: FastifyRequest, { data: values, path }: ReadBody, isNew: boolean): WrittenRecord[] {
    // The body of an action may be a list of any values.
    if (!isRecord(values)) return [];
    const { meta } = this.#definition;
    const { data, entity } = stateOf(request).resolved?.get(path) ?? { data: values, entity: undefined };
    return writtenRecords({
      meta,
      path,
      values,
      input: data as Readonly<Record<string, unknown>>,
      fields: this.#fieldsOf(request, isNew ? 'create' : 'update'),
      stored: isNew ? undefined : this.#storedRecord(request, values, path, entity as Entity | undefined),
    });
  }

  /** Returns the field that identifies the changed record of a body, with its value. */
  #storedRecord(
    request: FastifyRequest,
    values: Readonly<Record<string, unknown>>,
    path: string,
    entity: Entity | undefined,
  ): WrittenRecord['stored'] {
    const { pk, key } = this.#definition;
    if (entity !== undefined) return { field: pk.property.name, value: keyOfEntity(entity, pk) };
    const field = key.column.property.name;
    const { pk: named, object } = stateOf(request);
    return { field, value: path === '' ? (named ?? object?.entity[field as never]) : values[field] };
  }
}
