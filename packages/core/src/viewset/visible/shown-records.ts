import type { FastifyReply, FastifyRequest } from 'fastify';
import { NotFound } from '../../errors.ts';
import { isRecord } from '../../json.ts';
import type { Condition } from '../../language/condition.ts';
import type { PermissionView } from '../../permissions/permission.ts';
import { namesShowing } from '../../shapes/read/read-shape.ts';
import { answerOf } from '../answers/answer-of.ts';
import { stateOf } from '../request/request-state.ts';
import type { Answers } from '../answers/answers.ts';
import type { Customized } from '../request/customized.ts';
import type { Operation } from '../request/operation.ts';
import type { ParentDefinition } from './parent.ts';
import { SharedLookUps } from '../request/shared-look-ups.ts';
import { type AskedPlan, type RecordView, refuses } from './shown-view.ts';
import type { VisibleRecords } from './visible-records.ts';

/** The operations that return records to clients. */
const READS = ['retrieve', 'list'] as const;

/** The part of a view that decides which records it shows. */
interface ShowingView<Entity extends object> extends PermissionView {
  getObject(request: FastifyRequest): Promise<Entity>;
  checkObjectPermissions(request: FastifyRequest, entity: Entity): Promise<void>;
  list(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
  retrieve(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

/** The declarations of a view that decide which records it shows. */
export interface ShowingDefinition extends ParentDefinition {
  readonly operations: readonly Operation[];
  readonly customized: Customized;
  readonly answers: Answers;
  /** The routes that serve the record's files. */
  readonly fileActions: ReadonlyMap<string, unknown>;
}

/**
 * The records that a view would show to a request. Callers are nested views, views whose bodies refer to the records,
 * routes of files, and OPTIONS. If the view overrides a read operation, the override is called.
 */
export class ShownRecords<Entity extends object> implements RecordView<ShowingDefinition> {
  readonly view: ShowingView<Entity>;
  readonly definition: ShowingDefinition;
  readonly #records: VisibleRecords<Entity>;

  constructor(view: ShowingView<Entity>, definition: ShowingDefinition, records: VisibleRecords<Entity>) {
    this.view = view;
    this.definition = definition;
    this.#records = records;
  }

  async find(request: FastifyRequest, wantsEntity: boolean): Promise<Entity | undefined> {
    if (this.definition.customized.retrieves) {
      await this.#ask(request, 'retrieve');
      if (!wantsEntity) return undefined;
    }
    return this.#lookUp(request, wantsEntity);
  }

  async findAll(request: FastifyRequest, condition: Condition): Promise<Entity[]> {
    const shown: Entity[] = [];
    for (const entity of await this.#records.findAll(request, condition, false)) {
      try {
        await this.view.checkObjectPermissions(request, entity);
        shown.push(entity);
      } catch (error) {
        if (!refuses(error)) throw error;
      }
    }
    return shown;
  }

  /**
   * Finds the record of the path for one of its files, if a GET of the record or the list shows the file to this
   * request. Permissions and hooks run as in `retrieve`, because they may depend on the operation.
   */
  async findForFile(request: FastifyRequest, reply: FastifyReply, file: string): Promise<Entity> {
    const { operations, answers, customized } = this.definition;
    stateOf(request).reply = reply;
    const { pk } = request.params as { readonly pk: string };
    const { shown } = await request.server.viewset.shownViews.get(this.view)!.admit(request, pk);
    const shapes = READS.filter((operation) => operations.includes(operation)).map(
      (operation) => answers.of(shown, operation).shape,
    );
    const names = shapes.flatMap((shape) => namesShowing(shape, file));
    if (names.length === 0) throw new NotFound();
    if (customized.handles.retrieve || customized.represents) {
      const record = await this.#ask(shown, 'retrieve');
      if (!names.some((name) => isRecord(record[name]))) throw new NotFound();
    }
    await this.#lookUp(shown, false);
    return this.view.getObject(request);
  }

  async permit(request: FastifyRequest, { action, detail }: AskedPlan): Promise<void> {
    const { fileActions, customized } = this.definition;
    const { reply } = stateOf(request);
    if (detail && fileActions.has(action) && reply !== undefined) await this.findForFile(request, reply, action);
    else if (action === 'retrieve') await this.find(request, false);
    else if (detail) await this.#lookUp(request, false);
    else if (action === 'list' && customized.handles.list) await this.#ask(request, 'list');
  }

  /** Calls an override of a read operation. Throws NotFound if it returns no record. */
  async #ask(request: FastifyRequest, operation: 'list' | 'retrieve'): Promise<Readonly<Record<string, unknown>>> {
    const { reply } = stateOf(request);
    if (reply === undefined) throw new TypeError(`${this.view.name}.${operation} is asked outside of a route`);
    const answer = await answerOf((silent) => this.view[operation](request, silent), reply);
    if (answer === undefined && operation === 'retrieve') throw new NotFound();
    return answer ?? {};
  }

  /** Looks up the record of the path like the view's operations. Throws NotFound. */
  async #lookUp(request: FastifyRequest, wantsEntity: boolean): Promise<Entity | undefined> {
    const { customized, answers } = this.definition;
    if (customized.findsRecord) return this.view.getObject(request);
    const records = this.#records.forKey(request);
    const { lookUps = new SharedLookUps() } = stateOf(request);
    if (!wantsEntity && !this.#records.seesEntity(request)) {
      if (await lookUps.find(records, 'exists', () => records.exists())) return undefined;
      throw new NotFound();
    }
    // Not locked: requests that create records below one parent need not wait for each other.
    const populate = answers.populateFor(request);
    const entity = await lookUps.find(records, `entity ${populate.join()}`, () => this.#records.find(request, false));
    if (entity === undefined) throw new NotFound();
    await this.view.checkObjectPermissions(request, entity);
    return entity;
  }
}
