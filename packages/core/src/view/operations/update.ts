import type { FastifyReply, FastifyRequest } from 'fastify';
import { orNotFound } from '../../errors/errors.ts';
import { backendOf } from '../../query/backend-of.ts';
import type { RecordOutputOf } from '../request/record-output.ts';
import { inputOf } from '../request/request-state.ts';
import type { ViewParts } from './view-parts.ts';
import { type TargetHooks, WriteTarget } from './write-target.ts';

/** The hooks of a view that `update` calls. */
interface UpdateHooks<Entity extends object> extends TargetHooks<Entity> {
  performUpdate(request: FastifyRequest, entity: Entity, data: object, extra?: object): Promise<Entity>;
}

/** PUT and PATCH on a record. */
export class UpdateOperation<Entity extends object, Output extends object> {
  readonly #view: UpdateHooks<Entity>;
  readonly #parts: ViewParts<Entity>;
  readonly #target: WriteTarget<Entity>;

  constructor(view: UpdateHooks<Entity>, parts: ViewParts<Entity>) {
    this.#view = view;
    this.#parts = parts;
    this.#target = new WriteTarget(view, parts);
  }

  /**
   * Changes the record of the path, and returns it as it is stored. One statement does so if nothing needs the entity
   * and the request has no conditions. Else a transaction finds and locks the record, resolves what the body refers to,
   * and calls `performUpdate`.
   *
   * @throws NotFound, Unauthorized, Forbidden, PreconditionFailed; InvalidUsage for the errors of the body
   */
  async run(request: FastifyRequest, reply: FastifyReply, output: RecordOutputOf<Output>): Promise<Output> {
    const { writes, resolved } = this.#parts;
    const { meta, pk, resolution } = resolved;
    const body = inputOf(request).bodies[0]!;
    // The primary key is set when a record is created, and never changes.
    const { [pk.property.name]: _key, ...data } = body.data as Readonly<Record<string, unknown>>;
    const condition = this.#target.conditionOfStatement(request, 'update', data, output);
    if (condition !== undefined) {
      const { reader: em } = request;
      const { records: projection } = output;
      const write = { em, meta, request, projection, data, condition };
      return orNotFound(await writes.guard(request, () => backendOf(em).update(write)));
    }
    return this.#target.inTransaction(request, reply, 'update', async (entity) => {
      const [ready] = await resolution.resolve(request, 'update', [{ body, data, entity }]);
      const [changed] = await writes.writeAndNotify(request, 'update', [entity], async () => [
        await this.#view.performUpdate(request, entity, ready!.data, ready!.extra),
      ]);
      return (await writes.readStored(request, output, changed!)).record;
    });
  }
}
