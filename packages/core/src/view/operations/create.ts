import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Keyed } from '../../query/language/projection.ts';
import { backendOf } from '../../query/backend-of.ts';
import type { RecordOutputOf } from '../request/record-output.ts';
import { inputOf, stateOf } from '../request/request-state.ts';
import type { ViewParts } from './view-parts.ts';

/** The hooks of a view that `create` calls. */
interface CreateHooks<Entity extends object> {
  performCreate(request: FastifyRequest, data: object, extra?: object): Promise<Entity>;
}

/** POST on the collection. */
export class CreateOperation<Entity extends object, Output extends object> {
  readonly #view: CreateHooks<Entity>;
  readonly #parts: ViewParts<Entity>;

  constructor(view: CreateHooks<Entity>, parts: ViewParts<Entity>) {
    this.#view = view;
    this.#parts = parts;
  }

  /** Stores a new record, and sends it as it is stored. `Location` is its path, if the view shows single records. */
  async run(request: FastifyRequest, reply: FastifyReply): Promise<Output> {
    const { operations, key: keys, outputs } = this.#parts.resolved;
    const { key, record } = await this.#store(request, outputs.of(request, 'create') as RecordOutputOf<Output>);
    reply.code(201);
    if (operations.includes('retrieve')) reply.header('location', keys.pathOf(key, request));
    return record;
  }

  /** Stores the record by one statement if nothing needs its entity, else in a transaction. */
  async #store(request: FastifyRequest, output: RecordOutputOf<Output>): Promise<Keyed<Output>> {
    const { resolved, writes } = this.#parts;
    const { meta, nesting, resolution } = resolved;
    const { reader: em } = request;
    const body = inputOf(request).bodies[0]!;
    const { data } = body;
    const { grant } = stateOf(request);
    const write = { em, grant, condition: undefined, filters: undefined, data, output };
    if (resolved.writes.isOneStatement('create', write)) {
      const { keyed: projection } = output;
      return writes.guard(request, () => backendOf(em).insert({ em, meta, request, projection, data }));
    }
    return writes.inTransaction(request, async () => {
      const parent = nesting && (await writes.bodyErrorsFirst(request, 'create', nesting.parentOf(request)));
      const [ready] = await resolution.resolve(request, 'create', [{ body, data: { ...data, ...parent } }]);
      const [entity] = await writes.writeAndNotify(request, 'create', [], async () => [
        await this.#view.performCreate(request, ready!.data, ready!.extra),
      ]);
      return writes.readStored(request, output, entity!);
    });
  }
}
