import type { FastifyReply, FastifyRequest } from 'fastify';
import { checkNotAborted } from '../../http/abort-state.ts';
import { compare } from '../../query/language/compare.ts';
import { recordsByValue } from '../../query/records-by-value.ts';
import { assignValues } from '../../mikro/assign-values.ts';
import { changesIn } from '../../shapes/write/assign-input.ts';
import type { RecordOutputOf } from '../../view/request/record-output.ts';
import type { ResolvedBody } from '../../view/write/input-resolution.ts';
import { type FeaturedView, type FeatureView, STEPS, type ViewSteps } from '../../view/setup/feature.ts';
import { inputOf } from '../../view/request/request-state.ts';
import { lookUpSent } from '../../view/records/database-rejections.ts';
import type { Bulk } from './bulk.ts';

/**
 * The operations of a view on several records at once. Either all are written or none. One flush writes them, unless
 * the view overrides the hook for each record or an update writes children.
 */
export class BulkOperations {
  readonly #hooks: FeaturedView;
  readonly #view: FeatureView;
  readonly #bulk: Bulk;

  constructor(hooks: FeaturedView, view: FeatureView, bulk: Bulk) {
    this.#hooks = hooks;
    this.#view = view;
    this.#bulk = bulk;
  }

  /** POST of an array on the collection. */
  async create(request: FastifyRequest, reply: FastifyReply): Promise<object[]> {
    const { nesting, resolution } = this.#view;
    const { bodies } = inputOf(request);
    const output = this.#output(request, 'create');
    const records = await this.#steps.writes.inTransaction(request, async () => {
      const parent =
        nesting && (await this.#steps.writes.bodyErrorsFirst(request, 'create', nesting.parentOf(request)));
      const written = bodies.map((body) => ({ body, data: { ...body.data, ...parent } }));
      const resolved = await resolution.resolve(request, 'create', written);
      return this.#steps.writes.readAllStored(
        request,
        output,
        await this.#steps.writes.writeAndNotify(request, 'create', [], () => this.#createEach(request, resolved)),
      );
    });
    reply.code(201);
    return records;
  }

  /** PATCH of an array on the collection. */
  async update(request: FastifyRequest): Promise<object[]> {
    const { pk, resolution } = this.#view;
    const key = this.#view.key.column;
    const output = this.#output(request, 'update');
    const { bodies } = inputOf(request);
    const sent = bodies.map(({ data }) => data as Readonly<Record<string, unknown>>);
    const keys = sent.map((data) => data[key.property.name]);
    return this.#steps.writes.inTransaction(request, async () => {
      const entities = await this.#steps.writes.bodyErrorsFirst(
        request,
        'update',
        this.#findToWrite(request, keys, 'body'),
      );
      const written = bodies.map((body, index) => {
        const { [pk.property.name]: _pk, [key.property.name]: _key, ...data } = sent[index]!;
        return { body, data, entity: entities[index]! };
      });
      const resolved = await resolution.resolve(request, 'update', written);
      await this.#steps.writes.writeAndNotify(request, 'update', entities, () =>
        this.#updateEach(request, entities, resolved),
      );
      return this.#steps.writes.readAllStored(request, output, entities);
    });
  }

  /** `DELETE …?pk=1,2,3` on the collection. */
  async destroy(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { pk: keys } = request.query as { readonly pk: readonly unknown[] };
    await this.#steps.writes.inTransaction(request, async () => {
      const entities = await this.#findToWrite(request, keys, 'query');
      await this.#steps.writes.writeAndNotify(request, 'destroy', entities, () => this.#destroyEach(request, entities));
    });
    reply.code(204);
  }

  async #createEach(request: FastifyRequest, resolved: readonly ResolvedBody[]): Promise<object[]> {
    const entities: object[] = [];
    const isHooked = this.#view.overrides.performs.create;
    checkNotAborted(request);
    for (const { path, data, extra } of resolved) {
      const made = isHooked
        ? this.#steps.writes.writeAlone(request, path, () => this.#hooks.performCreate(request, data, extra))
        : this.#steps.writes.make(request, data);
      entities.push(await made);
    }
    await this.#steps.writes.flush(request);
    return entities;
  }

  async #updateEach(
    request: FastifyRequest,
    entities: readonly object[],
    resolved: readonly ResolvedBody[],
  ): Promise<readonly object[]> {
    const { fields } = this.#view.input!.of(request, 'update').shape;
    const writesChildren = fields.some(({ children }) => children !== undefined);
    const isOverridden = this.#view.overrides.performs.update;
    const isHooked = isOverridden || writesChildren;
    const { writes } = this.#steps;
    if (writesChildren && !isOverridden) {
      for (const [index, { path, data }] of resolved.entries()) {
        await writes.writeAlone(request, path, () => writes.removeLeftOut(request, entities[index]!, data));
      }
    }
    const changes = resolved.flatMap(({ data }, index) => changesIn(entities[index]!, { ...data }, fields));
    await this.#steps.writes.exchanging(request, changes, async () => {
      for (const [index, { path, data, extra }] of resolved.entries()) {
        const entity = entities[index]!;
        const update = (): Promise<object> => this.#hooks.performUpdate(request, entity, data, extra);
        if (isHooked) await this.#steps.writes.writeAlone(request, path, update);
        else assignValues(request.em, entity, data);
      }
      await this.#steps.writes.flush(request);
    });
    return entities;
  }

  async #destroyEach(request: FastifyRequest, entities: readonly object[]): Promise<readonly object[]> {
    const isHooked = this.#view.overrides.performs.destroy;
    for (const entity of entities) {
      if (isHooked) await this.#hooks.performDestroy(request, entity);
      else this.#steps.writes.remove(request, entity);
    }
    await this.#steps.writes.flush(request);
    return entities;
  }

  /** Finds the records to write, locks them in the order of their keys, and checks the object permissions of each. */
  async #findToWrite(
    request: FastifyRequest,
    keys: readonly unknown[],
    place: 'body' | 'query',
  ): Promise<readonly object[]> {
    const { meta } = this.#view;
    const key = this.#view.key.column;
    const found = await lookUpSent(
      request,
      { meta, column: key },
      keys.map((value) => ({ value })),
      (refused) => this.#bulk.absent(keys, new Set(refused.map(({ value }) => value)), place),
      () => this.#steps.records.findAll(request, compare(key, 'in', [...keys]), true),
    );
    const named = await recordsByValue(request.em, meta, key, keys, found);
    const missing = new Set(keys.filter((each) => named(each) === undefined));
    if (missing.size > 0) throw this.#bulk.absent(keys, missing, place);
    const entities = keys.map((each) => named(each)!);
    this.#bulk.checkDistinct(entities, place);
    for (const entity of entities) await this.#hooks.checkObjectPermissions(request, entity);
    return entities;
  }

  #output(request: FastifyRequest, operation: 'create' | 'update'): RecordOutputOf<object> {
    return this.#view.outputs.of(request, operation);
  }

  get #steps(): ViewSteps {
    return this.#hooks[STEPS];
  }
}
