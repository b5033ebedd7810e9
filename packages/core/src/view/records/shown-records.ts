import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import { permissionDenied } from '../../http/current-user.ts';
import { NotFound, orNotFound, refusalStatus } from '../../errors/errors.ts';
import { isRecord } from '../../support/json.ts';
import type { Condition } from '../../query/language/condition.ts';
import { evaluatePermissions } from '../../permissions/evaluate.ts';
import type { ObjectCheck } from '../../permissions/grant.ts';
import type { Permission, PermissionView } from '../../permissions/permission.ts';
import { namesShowing } from '../../shapes/read/read-shape.ts';
import { recordSentBy } from '../output/sent-record.ts';
import type { RecordOutputs } from '../output/record-outputs.ts';
import { isWrite, type Operation } from '../request/operation.ts';
import { simulateRequest } from '../request/request-for.ts';
import { stateOf } from '../request/request-state.ts';
import { SharedLookUps } from '../request/shared-look-ups.ts';
import type { ParentDefinition, ShownRequest } from './parent.ts';
import type { VisibleRecords } from './visible-records.ts';

/** The key of the property that gives others access to a view's records. */
export const SHOWN_RECORDS: unique symbol = Symbol('viewset.shows');

type Plan = NonNullable<FastifyContextConfig['viewset']>;

/** The part of a view that decides which records it shows. */
interface ShowingView extends PermissionView {
  getObject(request: FastifyRequest): Promise<object>;
  checkObjectPermissions(request: FastifyRequest, entity: object): Promise<void>;
  list(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
  retrieve(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

type Permit = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** The declarations of a view that decide which records it shows. */
export interface ShowingDefinition extends ParentDefinition {
  readonly operations: readonly Operation[];
  readonly permissions: {
    readonly showing: readonly Permission[];
    of(operation: Operation): readonly Permission[];
  };
  readonly outputs: RecordOutputs;
  /** The options of the view, by name. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The actions that options add, by name, with their checks for OPTIONS. */
  readonly actions: ReadonlyMap<string, { readonly traits?: { readonly permit?: Permit } }>;
}

/**
 * The records that a view would show to a request by GET. Callers are nested views, views whose bodies refer to the
 * records, routes of files and histories, and OPTIONS. Records that the view would not show count as missing. If the view
 * overrides a read operation, the override is called.
 */
export class ShownRecords {
  readonly view: ShowingView;
  readonly definition: ShowingDefinition;
  /** The plan of the route that shows one record; undefined if the view has none. */
  plan: Plan | undefined;
  readonly #records: VisibleRecords<object>;

  constructor(view: ShowingView, definition: ShowingDefinition, records: VisibleRecords<object>) {
    this.view = view;
    this.definition = definition;
    this.#records = records;
  }

  /**
   * Checks the permissions of the view.
   *
   * @param key the record's key, as in the path; undefined for a request without a record
   * @throws NotFound if they refuse the request
   */
  ask(request: FastifyRequest, key?: string): Promise<ShownRequest> {
    return hidingRefusals(() => this.admit(request, key));
  }

  /** Checks the permissions of the view. If they refuse the request, throws the same error as the view's own route. */
  async admit(request: FastifyRequest, key?: string): Promise<ShownRequest> {
    const { pk: _pk, ...params } = request.params as Readonly<Record<string, string>>;
    const shown = simulateRequest(request, {
      plan: this.plan,
      method: 'GET',
      params: key === undefined ? params : { ...params, pk: key },
      pk: key === undefined ? undefined : orNotFound(this.definition.key.parse(key)),
    });
    const grant = await evaluatePermissions(this.definition.permissions.showing, shown, this.view, { object: true });
    if (grant.denied) throw permissionDenied(request);
    stateOf(shown).grant = grant;
    return { shown, grant };
  }

  /**
   * Finds the record of a request, as an entity of `request.em` if `wantsEntity` is true. Throws NotFound if the view
   * would not show it.
   */
  find({ shown }: ShownRequest, wantsEntity: boolean): Promise<object | undefined> {
    return hidingRefusals(() => this.#find(shown, wantsEntity));
  }

  /**
   * Finds the records that match a condition and that the view shows to a request, as entities of `request.em`. Returns
   * none if the view refuses the request.
   */
  async findAll(request: FastifyRequest, condition: Condition): Promise<readonly object[]> {
    try {
      const { shown } = await this.admit(request);
      const found = await this.#records.findAll(shown, condition, false);
      const passing: object[] = [];
      for (const entity of found) if (await this.#isPassing(shown, entity)) passing.push(entity);
      return passing;
    } catch (error) {
      if (error instanceof NotFound || refuses(error)) return [];
      throw error;
    }
  }

  /**
   * Finds the record of the path for one of its files, if a GET of the record or the list shows the file to this
   * request. Permissions and hooks run as in `retrieve`, because they may depend on the operation.
   *
   * @throws NotFound if no GET shows the file to the request
   */
  async findForFile(request: FastifyRequest, reply: FastifyReply, file: string): Promise<object> {
    const { operations, outputs, overrides } = this.definition;
    stateOf(request).reply = reply;
    const { shown } = await this.admit(request, (request.params as { readonly pk: string }).pk);
    const readers: { readonly names: readonly string[]; readonly allows: ObjectCheck }[] = [];
    for (const operation of operations) {
      if (isWrite(operation)) continue;
      const names = namesShowing(outputs.of(shown, operation).shape, file);
      const allows = names.length === 0 ? undefined : await this.#readerOf(shown, operation);
      if (allows !== undefined) readers.push({ names, allows });
    }
    if (readers.length === 0) throw new NotFound();
    if (overrides.handles.retrieve || overrides.represents) {
      const record = await this.#ask(shown, 'retrieve');
      if (!readers.some(({ names }) => names.some((name) => isRecord(record[name])))) throw new NotFound();
    }
    await this.#lookUp(shown, false);
    const entity = await this.view.getObject(request);
    for (const { allows } of readers) if (await allows(entity)) return entity;
    throw new NotFound();
  }

  /**
   * Returns which records the permissions of a read operation show to an admitted request, if the operation has other
   * permissions than those that `admit` checks. Undefined if they refuse the request.
   */
  async #readerOf(shown: FastifyRequest, operation: Operation): Promise<ObjectCheck | undefined> {
    const { permissions } = this.definition;
    const ofOperation = permissions.of(operation);
    if (ofOperation === permissions.showing) return () => true;
    try {
      const grant = await evaluatePermissions(ofOperation, shown, this.view, { object: false });
      return grant.denied ? undefined : (entity) => grant.allows(entity);
    } catch (error) {
      if (refuses(error)) return undefined;
      throw error;
    }
  }

  /**
   * Checks everything besides the permissions of a route: whether the view has the record of the path, and whether an
   * overridden read operation would return the record.
   *
   * @throws HttpError if the route would refuse the request
   */
  async permit(request: FastifyRequest, { action, detail }: Plan): Promise<void> {
    const { actions, overrides } = this.definition;
    const { reply } = stateOf(request);
    const permit = detail ? actions.get(action)?.traits?.permit : undefined;
    if (permit !== undefined && reply !== undefined) await permit(request, reply);
    else if (action === 'retrieve') await this.#find(request, false);
    else if (detail) await this.#lookUp(request, false);
    else if (action === 'list' && overrides.handles.list) await this.#ask(request, 'list');
  }

  async #isPassing(request: FastifyRequest, entity: object): Promise<boolean> {
    try {
      await this.view.checkObjectPermissions(request, entity);
      return true;
    } catch (error) {
      if (!refuses(error)) throw error;
      return false;
    }
  }

  async #find(request: FastifyRequest, wantsEntity: boolean): Promise<object | undefined> {
    if (this.definition.overrides.retrieves) {
      await this.#ask(request, 'retrieve');
      if (!wantsEntity) return undefined;
    }
    return this.#lookUp(request, wantsEntity);
  }

  /** Calls an override of a read operation. Throws NotFound if it returns no record. */
  async #ask(request: FastifyRequest, operation: 'list' | 'retrieve'): Promise<Readonly<Record<string, unknown>>> {
    const { reply } = stateOf(request);
    if (reply === undefined) throw new TypeError(`${this.view.name}.${operation} is asked outside of a route`);
    const result = await recordSentBy((silent) => this.view[operation](request, silent), reply);
    if (result === undefined && operation === 'retrieve') throw new NotFound();
    return result ?? {};
  }

  /** Looks up the record of the path like the view's operations. Throws NotFound. */
  async #lookUp(request: FastifyRequest, wantsEntity: boolean): Promise<object | undefined> {
    const { overrides, outputs } = this.definition;
    if (overrides.findsRecord) return this.view.getObject(request);
    const records = this.#records.forKey(request);
    const { lookUps = new SharedLookUps() } = stateOf(request);
    if (!wantsEntity && !this.#records.seesEntity(request)) {
      if (await lookUps.find(records, 'exists', () => records.exists())) return undefined;
      throw new NotFound();
    }
    // Not locked: requests that create records below one parent need not wait for each other.
    const populate = outputs.populateFor(request);
    const found = await lookUps.find(records, `entity ${populate.join()}`, () => this.#records.find(request, false));
    const entity = orNotFound(found);
    await this.view.checkObjectPermissions(request, entity);
    return entity;
  }
}

/** Throws NotFound instead of an error that refuses the user. */
async function hidingRefusals<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    throw refuses(error) ? new NotFound(undefined, { cause: error }) : error;
  }
}

/** Reports whether an error refuses the user. */
function refuses(error: unknown): boolean {
  const status = refusalStatus(error);
  return status === 401 || status === 403;
}
