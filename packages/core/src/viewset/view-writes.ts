import type { EntityName } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { type Awaitable, isPromise } from '../awaitable.ts';
import type { Backend, RowWrite } from '../backends/backend.ts';
import { HttpError } from '../errors.ts';
import { backendOf } from '../query/backend-of.ts';
import { placedAt, type Problem } from '../schema/scan-input.ts';
import { assignInput, makeRecord } from '../shapes/assign-input.ts';
import type { RecordData } from '../shapes/references.ts';
import { ownWrite, placeConflict } from './own-write.ts';
import { stateOf } from './request-state.ts';
import type { Resource } from './resource.ts';
import { inTransaction } from './transaction.ts';
import type { WriteOperation } from './operation.ts';
import type { Write } from './write-reasons.ts';
import { type WrittenRecord, writtenRecords } from './written-records.ts';

/** The record that a request writes. */
export interface WriteTarget extends Partial<Omit<Write, 'em' | 'grant'>> {
  readonly operation: WriteOperation;
  readonly data: object;
}

/** A record of a body that is written. */
interface RecordBody extends RecordData {
  readonly body: object;
}

/** The data of a body that has no fault, its references found, and the input that the entity has not. */
export interface Judged {
  readonly resolved: object;
  readonly extra: object;
}

/** The writes of a view: the way of a body to the database, and of an error of the database to its place in the body. */
export class ViewWrites<Entity extends object> {
  readonly #entity: EntityName<Entity>;
  readonly #resource: Resource;

  constructor(entity: EntityName<Entity>, resource: Resource) {
    this.#entity = entity;
    this.#resource = resource;
  }

  /** Writes by one statement if that means the same, else by `work`, in a transaction. */
  byPlan<Result, Output extends object>(
    request: FastifyRequest,
    target: WriteTarget,
    statement: (backend: Backend, write: Omit<RowWrite<Output>, 'projection'>) => Awaitable<Result>,
    work: () => Promise<Result>,
  ): Awaitable<Result> {
    const { writes, meta } = this.#resource;
    const em = request.reader;
    const { grant } = stateOf(request);
    const { condition, filters, data, answer } = target;
    const write: Write = { em, grant, condition, filters, data, answer, comparesLocked: false };
    if (!writes.isOneStatement(target.operation, write)) return this.together(request, work);
    const written = this.own(request, () => statement(backendOf(em), { em, meta, request }));
    return isPromise(written) ? written.catch((error: unknown) => this.#refuse(request, error)) : written;
  }

  /** Writes in one transaction. */
  together<Result>(request: FastifyRequest, work: () => Promise<Result>): Promise<Result> {
    return inTransaction(request, work).catch((error: unknown) => this.#refuse(request, error));
  }

  /**
   * Asks the rules of the view about bodies and finds the records that they refer to.
   *
   * @throws InvalidUsage for all faults of the schemas, the rules and the references
   */
  async judged(
    request: FastifyRequest,
    operation: 'create' | 'update',
    bodies: readonly RecordBody[],
  ): Promise<Judged[]> {
    const { resolution } = this.#resource;
    const input = this.#resource.input!;
    const known: Problem[] = [];
    for (const { body, path, entity } of bodies) {
      known.push(...placedAt(path, await input.judge(request, body, entity)));
    }
    const records: RecordData[] = [];
    for (const { body, data, path, entity } of bodies) {
      const isFilled = known.length === 0 && operation === 'create';
      const whole = isFilled ? await input.fill(request, data) : (input.sentOf(body) ?? data);
      records.push({ data: whole, path, entity });
    }
    const resolved = await resolution.resolve(request, operation, records, known);
    return bodies.map(({ body }, index) => ({ resolved: resolved[index]!, extra: input.extraOf(body) }));
  }

  /** Waits for the look-up of records. The faults of the body, if there is one, come before the answer that one is not there. */
  async lookedUp<Found>(request: FastifyRequest, operation: WriteOperation, found: Promise<Found>): Promise<Found> {
    try {
      return await found;
    } catch (error) {
      const hasFaults = error instanceof HttpError && operation !== 'destroy';
      if (hasFaults) await this.#resource.resolution.throwKept(request, operation);
      throw error;
    }
  }

  /** Makes the entity of a new record, which the next flush stores. */
  make(request: FastifyRequest, data: object): Awaitable<Entity> {
    const fields = this.#resource.input?.create.fields ?? [];
    return this.own(request, () => makeRecord(request.em, this.#entity, data, fields));
  }

  /** Stores the changes of a record and of its children. */
  assign(request: FastifyRequest, entity: Entity, data: object): Awaitable<void> {
    const fields = this.#resource.input?.update.fields ?? [];
    return this.own(request, () => assignInput(request.em, entity, data, fields));
  }

  /** Writes the view's own records by the unit of work. */
  flush(request: FastifyRequest): Awaitable<void> {
    return this.own(request, () => request.em.flush());
  }

  /** Runs a statement that writes what the body says of the view's own records. */
  own<Result>(request: FastifyRequest, work: () => Awaitable<Result>): Awaitable<Result> {
    return ownWrite(() => this.#recordsOf(request), work);
  }

  #recordsOf(request: FastifyRequest): WrittenRecord[] {
    const { body, method } = request;
    // A destroy writes none: what it meets is that others refer to its record.
    if (method === 'DELETE') return [];
    const { meta, input, key } = this.#resource;
    const field = key.column.property.name;
    const isNew = method === 'POST';
    const fields = (isNew ? input?.create : input?.update)?.fields ?? [];
    if (!Array.isArray(body)) {
      return writtenRecords(meta, fields, body ?? {}, '', isNew ? undefined : { field, value: stateOf(request).pk });
    }
    return (body as Record<string, unknown>[]).flatMap((item, index) =>
      writtenRecords(meta, fields, item, `/${index}`, isNew ? undefined : { field, value: item[field] }),
    );
  }

  /** Throws the error of a write, once it is known which value of the body is at fault. */
  async #refuse({ em }: FastifyRequest, error: unknown): Promise<never> {
    await placeConflict(em, error);
    throw error;
  }
}
