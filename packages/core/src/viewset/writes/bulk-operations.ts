import type { FastifyReply, FastifyRequest } from 'fastify';
import { checkNotAborted } from '../../abort-state.ts';
import { compare } from '../../language/compare.ts';
import { recordsByValue } from '../../query/records-by-value.ts';
import { assignValues } from '../../mikro/assign-values.ts';
import type { WritingDefinition } from './writing-definition.ts';
import type { AnswerOf } from '../request/answer.ts';
import type { ResolvedBody } from './input-resolution.ts';
import type { RecordWrites, WriteHooks } from './record-writes.ts';
import { inputOf } from '../request/request-state.ts';
import { lookUpBy } from '../visible/refused-values.ts';
import type { VisibleRecords } from '../visible/visible-records.ts';

/** The hooks of a view that are called for each record. */
interface RecordHooks<Entity extends object> extends WriteHooks<Entity> {
  checkObjectPermissions(request: FastifyRequest, entity: Entity): Promise<void>;
}

/**
 * The operations of a view on several records at once. Either all are written or none. One flush writes them, unless
 * the view overrides the hook for each record or an update writes children.
 */
export class BulkOperations<Entity extends object, Output extends object> {
  readonly #view: RecordHooks<Entity>;
  readonly #definition: WritingDefinition;
  readonly #records: VisibleRecords<Entity>;
  readonly #writes: RecordWrites<Entity, Output>;

  constructor(
    view: RecordHooks<Entity>,
    definition: WritingDefinition,
    records: VisibleRecords<Entity>,
    writes: RecordWrites<Entity, Output>,
  ) {
    this.#view = view;
    this.#definition = definition;
    this.#records = records;
    this.#writes = writes;
  }

  /** POST of an array on the collection. */
  async create(request: FastifyRequest, reply: FastifyReply): Promise<Output[]> {
    const { nesting, resolution } = this.#definition;
    const { bodies } = inputOf(request);
    const answer = this.#answer(request, 'create');
    const records = await this.#writes.inTransaction(request, async () => {
      const parent = nesting && (await this.#writes.faultsFirst(request, 'create', nesting.parentOf(request)));
      const written = bodies.map((body) => ({ body, data: { ...body.data, ...parent } }));
      const resolved = await resolution.resolve(request, 'create', written);
      return this.#writes.readAllStored(
        request,
        answer,
        await this.#writes.writeAndNotify(request, 'create', [], () => this.#createEach(request, resolved)),
      );
    });
    reply.code(201);
    return records;
  }

  /** PATCH of an array on the collection. */
  async update(request: FastifyRequest): Promise<Output[]> {
    const { pk, resolution } = this.#definition;
    const key = this.#definition.key.column;
    const answer = this.#answer(request, 'update');
    const { bodies } = inputOf(request);
    const sent = bodies.map(({ data }) => data as Readonly<Record<string, unknown>>);
    const keys = sent.map((data) => data[key.property.name]);
    return this.#writes.inTransaction(request, async () => {
      const entities = await this.#writes.faultsFirst(request, 'update', this.#findToWrite(request, keys, 'body'));
      const written = bodies.map((body, index) => {
        const { [pk.property.name]: _pk, [key.property.name]: _key, ...data } = sent[index]!;
        return { body, data, entity: entities[index]! };
      });
      const resolved = await resolution.resolve(request, 'update', written);
      await this.#writes.writeAndNotify(request, 'update', entities, () =>
        this.#updateEach(request, entities, resolved),
      );
      return this.#writes.readAllStored(request, answer, entities);
    });
  }

  /** `DELETE …?pk=1,2,3` on the collection. */
  async destroy(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { pk: keys } = request.query as { readonly pk: readonly unknown[] };
    await this.#writes.inTransaction(request, async () => {
      const entities = await this.#findToWrite(request, keys, 'query');
      await this.#writes.writeAndNotify(request, 'destroy', entities, () => this.#destroyEach(request, entities));
    });
    reply.code(204);
  }

  async #createEach(request: FastifyRequest, resolved: readonly ResolvedBody[]): Promise<Entity[]> {
    const entities: Entity[] = [];
    const isHooked = this.#definition.overrides.performs.create;
    checkNotAborted(request);
    for (const { path, data, extra } of resolved) {
      const made = isHooked
        ? this.#writes.writeAlone(request, path, () => this.#view.performCreate(request, data, extra))
        : this.#writes.make(request, data);
      entities.push(await made);
    }
    await this.#writes.flush(request);
    return entities;
  }

  async #updateEach(
    request: FastifyRequest,
    entities: readonly Entity[],
    resolved: readonly ResolvedBody[],
  ): Promise<readonly Entity[]> {
    const { fields } = this.#definition.input!.of(request, 'update').shape;
    const writesChildren = fields.some(({ children }) => children !== undefined);
    const isHooked = this.#definition.overrides.performs.update || writesChildren;
    const changes = resolved.map(({ data }, index) => ({ entity: entities[index]!, data: { ...data } }));
    await this.#writes.exchanging(request, changes, async () => {
      for (const [index, { path, data, extra }] of resolved.entries()) {
        const entity = entities[index]!;
        const update = (): Promise<Entity> => this.#view.performUpdate(request, entity, data, extra);
        if (isHooked) await this.#writes.writeAlone(request, path, update);
        else assignValues(request.em, entity, data);
      }
      await this.#writes.flush(request);
    });
    return entities;
  }

  async #destroyEach(request: FastifyRequest, entities: readonly Entity[]): Promise<readonly Entity[]> {
    const isHooked = this.#definition.overrides.performs.destroy;
    for (const entity of entities) {
      if (isHooked) await this.#view.performDestroy(request, entity);
      else this.#writes.remove(request, entity);
    }
    await this.#writes.flush(request);
    return entities;
  }

  /** Finds the records to write, locks them in the order of their keys, and checks the object permissions of each. */
  async #findToWrite(
    request: FastifyRequest,
    keys: readonly unknown[],
    place: 'body' | 'query',
  ): Promise<readonly Entity[]> {
    const { bulk, meta } = this.#definition;
    const key = this.#definition.key.column;
    const found = await lookUpBy(
      request,
      { meta, column: key },
      keys.map((value) => ({ value })),
      (refused) => bulk!.absent(keys, new Set(refused.map(({ value }) => value)), place),
      () => this.#records.findAll(request, compare(key, 'in', [...keys]), true),
    );
    const named = await recordsByValue(request.em, meta, key, keys, found);
    const missing = new Set(keys.filter((each) => named(each) === undefined));
    if (missing.size > 0) throw bulk!.absent(keys, missing, place);
    const entities = keys.map((each) => named(each)!);
    bulk!.checkDistinct(entities, place);
    for (const entity of entities) await this.#view.checkObjectPermissions(request, entity);
    return entities;
  }

  #answer(request: FastifyRequest, operation: 'create' | 'update'): AnswerOf<Output> {
    return this.#definition.answers.of(request, operation) as AnswerOf<Output>;
  }
}
