import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Condition } from '../../query/language/condition.ts';
import type { RecordOutput } from '../request/record-output.ts';
import { stateOf } from '../request/request-state.ts';
import type { WriteCondition } from '../write/write-condition.ts';
import type { ViewParts } from './view-parts.ts';

/** The hooks of a view that find the record to write. */
export interface TargetHooks<Entity extends object> {
  getObject(request: FastifyRequest): Promise<Entity>;
}

/** The record of a path that `update` or `destroy` writes: how it is found, locked and compared. */
export class WriteTarget<Entity extends object> {
  readonly #view: TargetHooks<Entity>;
  readonly #parts: ViewParts<Entity>;

  constructor(view: TargetHooks<Entity>, parts: ViewParts<Entity>) {
    this.#view = view;
    this.#parts = parts;
  }

  /**
   * Returns the condition of the one statement that writes the record. Undefined if a transaction must write it: the
   * request has conditions, or `view.explain()` has a reason.
   *
   * @param data the fields to write, with their values
   */
  conditionOfStatement(
    request: FastifyRequest,
    operation: 'update' | 'destroy',
    data: object,
    output: RecordOutput | undefined,
  ): Condition | undefined {
    if (this.#conditionOf(request) !== undefined) return undefined;
    const { records, resolved } = this.#parts;
    const { condition, filters } = records.forKey(request);
    const write = { em: request.reader, grant: stateOf(request).grant, condition, filters, data, output };
    return resolved.writes.isOneStatement(operation, write) ? condition : undefined;
  }

  /**
   * Runs work on the entity of the record in a transaction, under the record's lock. With a condition of the request,
   * the record is compared before, which refuses most outdated tags without a lock, and again under the lock.
   */
  async inTransaction<Result>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: 'update' | 'destroy',
    work: (entity: Entity) => Promise<Result>,
  ): Promise<Result> {
    const { writes } = this.#parts;
    const wanted = this.#conditionOf(request);
    if (wanted !== undefined) await writes.bodyErrorsFirst(request, operation, wanted.compare(request, reply));
    return writes.inTransaction(request, async () => {
      const found = wanted === undefined ? this.#view.getObject(request) : this.#findCompared(request, reply, wanted);
      return work(await writes.bodyErrorsFirst(request, operation, found));
    });
  }

  async #findCompared(request: FastifyRequest, reply: FastifyReply, wanted: WriteCondition): Promise<Entity> {
    await wanted.lock(request);
    const entity = await this.#view.getObject(request);
    await wanted.check(request, reply);
    return entity;
  }

  /** The condition of a request on the record. Undefined if the request has none. */
  #conditionOf(request: FastifyRequest): WriteCondition | undefined {
    const { writeCondition } = this.#parts.resolved.features;
    return writeCondition?.appliesTo(request) === true ? writeCondition : undefined;
  }
}
