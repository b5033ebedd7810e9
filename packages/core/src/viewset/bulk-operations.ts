import type { FastifyReply, FastifyRequest } from 'fastify';
import { checkNotGivenUp } from '../given-up.ts';
import { compare } from '../language/compare.ts';
import { keyText } from '../fields/primary-key.ts';
import { assignValues } from '../mikro/assign-values.ts';
import { removeEntity } from '../mikro/remove-entity.ts';
import type { Resource } from './resource.ts';
import type { AnswerOf, ViewRecords } from './view-records.ts';
import type { Judged, ViewWrites } from './view-writes.ts';

/** The hooks of a view that are asked for each record. */
interface RecordHooks<Entity extends object> {
  performCreate(request: FastifyRequest, data: object, extra?: object): Promise<Entity>;
  performUpdate(request: FastifyRequest, entity: Entity, data: object, extra?: object): Promise<Entity>;
  performDestroy(request: FastifyRequest, entity: Entity): Promise<void>;
  checkObjectPermissions(request: FastifyRequest, entity: Entity): Promise<void>;
}

/** The parts of a view that its operations on several records use. */
interface BulkParts<Entity extends object, Output extends object> {
  readonly view: RecordHooks<Entity>;
  readonly resource: Resource;
  readonly records: ViewRecords<Entity, Output>;
  readonly writes: ViewWrites<Entity>;
  /** The operations and hooks that the view overrides. */
  readonly overridden: readonly string[];
}

/**
 * The operations of a view on several records at once: all are written or none, by one flush, unless the view has a hook for each.
 */
export class BulkOperations<Entity extends object, Output extends object> {
  readonly #view: RecordHooks<Entity>;
  readonly #resource: Resource;
  readonly #records: ViewRecords<Entity, Output>;
  readonly #writes: ViewWrites<Entity>;
  readonly #overridden: readonly string[];

  constructor({ view, resource, records, writes, overridden }: BulkParts<Entity, Output>) {
    this.#view = view;
    this.#resource = resource;
    this.#records = records;
    this.#writes = writes;
    this.#overridden = overridden;
  }

  /** POST of an array on the collection. */
  async create(request: FastifyRequest, reply: FastifyReply): Promise<Output[]> {
    const { nesting } = this.#resource;
    const bodies = request.body as object[];
    const answer = this.#answer(request, 'create');
    const records = await this.#writes.together(request, async () => {
      const parent = nesting && (await this.#writes.lookedUp(request, 'create', nesting.withParent(request, {})));
      const whole = bodies.map((body, index) => ({ body, data: { ...body, ...parent }, path: `/${index}` }));
      const judged = await this.#writes.judged(request, 'create', whole);
      return this.#records.storedAll(request, answer, await this.#createEach(request, judged));
    });
    reply.code(201);
    return records;
  }

  /** PATCH of an array on the collection. */
  async update(request: FastifyRequest): Promise<Output[]> {
    const { pk } = this.#resource;
    const key = this.#resource.key.column;
    const answer = this.#answer(request, 'update');
    const sent = request.body as Record<string, unknown>[];
    const keys = sent.map((body) => body[key.property.name]);
    return this.#writes.together(request, async () => {
      const entities = await this.#writes.lookedUp(request, 'update', this.#writable(request, keys, 'body'));
      const bodies = sent.map((body, index) => {
        const { [pk.property.name]: _pk, [key.property.name]: _key, ...data } = body;
        return { body, data, path: `/${index}`, entity: entities[index]! };
      });
      await this.#updateEach(request, entities, await this.#writes.judged(request, 'update', bodies));
      return this.#records.storedAll(request, answer, entities);
    });
  }

  /** `DELETE …?pk=1,2,3` on the collection. */
  async destroy(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { pk: keys } = request.query as { readonly pk: readonly unknown[] };
    await this.#writes.together(request, async () => {
      const entities = await this.#writable(request, keys, 'query');
      const isHooked = this.#overridden.includes('performDestroy');
      for (const entity of entities) {
        if (isHooked) await this.#view.performDestroy(request, entity);
        else removeEntity(request.em, entity);
      }
      await this.#writes.flush(request);
    });
    reply.code(204);
  }

  async #createEach(request: FastifyRequest, judged: readonly Judged[]): Promise<Entity[]> {
    const entities: Entity[] = [];
    const isHooked = this.#overridden.includes('performCreate');
    checkNotGivenUp(request);
    for (const { resolved, extra } of judged) {
      const made = isHooked ? this.#view.performCreate(request, resolved, extra) : this.#writes.make(request, resolved);
      entities.push(await made);
    }
    await this.#writes.flush(request);
    return entities;
  }

  async #updateEach(request: FastifyRequest, entities: readonly Entity[], judged: readonly Judged[]): Promise<void> {
    const writesChildren = this.#resource.input!.update.fields.some(({ children }) => children !== undefined);
    const isHooked = this.#overridden.includes('performUpdate') || writesChildren;
    for (const [index, { resolved, extra }] of judged.entries()) {
      if (isHooked) await this.#view.performUpdate(request, entities[index]!, resolved, extra);
      else assignValues(request.em, entities[index]!, resolved);
    }
    await this.#writes.flush(request);
  }

  /** Finds the records to write, locked in the order of their keys, and asks the object permission of each. */
  async #writable(
    request: FastifyRequest,
    keys: readonly unknown[],
    place: 'body' | 'query',
  ): Promise<readonly Entity[]> {
    const { bulk } = this.#resource;
    const key = this.#resource.key.column;
    const found = await this.#records.entities(request, compare(key, 'in', [...keys]), true);
    const byKey = new Map(found.map((entity) => [keyText(entity[key.property.name as keyof Entity]), entity]));
    const missing = new Set(keys.filter((each) => !byKey.has(keyText(each))));
    if (missing.size > 0) throw bulk!.absent(keys, missing, place);
    const entities = keys.map((each) => byKey.get(keyText(each))!);
    for (const entity of entities) await this.#view.checkObjectPermissions(request, entity);
    return entities;
  }

  #answer(request: FastifyRequest, operation: 'create' | 'update'): AnswerOf<Output> {
    return this.#resource.answers.of(request, operation) as AnswerOf<Output>;
  }
}
