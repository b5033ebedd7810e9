import type { FastifyReply, FastifyRequest } from 'fastify';
import { orNotFound } from '../../errors/errors.ts';
import type { Condition } from '../../query/language/condition.ts';
import { backendOf } from '../../query/backend-of.ts';
import type { ViewParts } from './view-parts.ts';
import { type TargetHooks, WriteTarget } from './write-target.ts';

/** The hooks of a view that `destroy` calls. */
interface DestroyHooks<Entity extends object> extends TargetHooks<Entity> {
  performDestroy(request: FastifyRequest, entity: Entity): Promise<void>;
}

/** DELETE on a record. */
export class DestroyOperation<Entity extends object> {
  readonly #view: DestroyHooks<Entity>;
  readonly #parts: ViewParts<Entity>;
  readonly #target: WriteTarget<Entity>;

  constructor(view: DestroyHooks<Entity>, parts: ViewParts<Entity>) {
    this.#view = view;
    this.#parts = parts;
    this.#target = new WriteTarget(view, parts);
  }

  /**
   * Deletes the record of the path. One statement does so if nothing needs the entity and the request has no
   * conditions. Else a transaction finds and locks the record, and calls `performDestroy`.
   *
   * @throws NotFound, Unauthorized, Forbidden, PreconditionFailed; Conflict if other records refer to the record
   */
  async run(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { writes } = this.#parts;
    const condition = this.#target.conditionOfStatement(request, 'destroy', {}, undefined);
    if (condition === undefined) {
      await this.#target.inTransaction(request, reply, 'destroy', (entity) =>
        writes.writeAndNotify(request, 'destroy', [entity], async () => {
          await this.#view.performDestroy(request, entity);
          return [entity];
        }),
      );
    } else {
      orNotFound(await writes.guard(request, () => this.#remove(request, condition)));
    }
    reply.code(204);
  }

  /** Undefined if no record matches the condition. */
  async #remove(request: FastifyRequest, condition: Condition): Promise<true | undefined> {
    const { meta, pk, features } = this.#parts.resolved;
    const { reader: em } = request;
    const backend = backendOf(em);
    if (features.deletion === undefined) return (await backend.remove({ em, meta, request, condition })) || undefined;
    const projection = { paths: [pk], readRow: () => true as const, readEntity: () => true as const, populate: [] };
    return backend.update({ em, meta, request, condition, data: features.deletion.values(), projection });
  }
}
