import type { FastifyRequest } from 'fastify';
import { type RecordOutputOf, recordOf } from '../request/record-output.ts';
import type { ViewParts } from './view-parts.ts';

/** The hooks of a view that `retrieve` calls. */
interface RetrieveHooks<Entity extends object> {
  getObject(request: FastifyRequest): Promise<Entity>;
}

/** GET on a record. */
export class RetrieveOperation<Entity extends object, Output extends object> {
  readonly #view: RetrieveHooks<Entity>;
  readonly #parts: ViewParts<Entity>;

  constructor(view: RetrieveHooks<Entity>, parts: ViewParts<Entity>) {
    this.#view = view;
    this.#parts = parts;
  }

  /**
   * Reads the record of the path as it is sent. Only if a hook or a permission needs the entity, `getObject` finds it.
   *
   * @throws NotFound, Unauthorized or Forbidden
   */
  async run(request: FastifyRequest): Promise<Output> {
    const { resolved, records } = this.#parts;
    const output = resolved.outputs.of(request, 'retrieve') as RecordOutputOf<Output>;
    if (!records.seesEntity(request)) return records.read(request, output, output.records);
    return recordOf(request, output, await this.#view.getObject(request));
  }
}
