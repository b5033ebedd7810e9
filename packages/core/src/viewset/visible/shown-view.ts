import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import { permissionDenied } from '../../current-user.ts';
import { NotFound, refusalStatus } from '../../errors.ts';
import type { Condition } from '../../language/condition.ts';
import { evaluatePermissions, type PermissionGrant } from '../../permissions/evaluate.ts';
import type { Permission, PermissionView } from '../../permissions/permission.ts';
import type { Customized } from '../request/customized.ts';
import type { KeyDefinition } from './record-key.ts';
import type { LiveOption } from '../../live/live-list.ts';
import type { Operation } from '../request/operation.ts';
import { requestFor } from '../request/request-for.ts';
import { stateOf } from '../request/request-state.ts';
import type { SoftDelete } from './soft-delete.ts';

/** The key of the property that gives other views access to a view's records. */
export const SHOWS: unique symbol = Symbol('viewset.shows');

/** The records that a view would show to a request, for use outside its routes. */
export interface RecordView<Definition extends ShownDefinition> {
  readonly view: PermissionView;
  readonly definition: Definition;
  /**
   * Finds the record of the path, as an entity if `wantsEntity` is true.
   *
   * @throws HttpError if the view would not show the record
   */
  find(request: FastifyRequest, wantsEntity: boolean): Promise<object | undefined>;
  /** Finds the records that match a condition, as entities. Leaves out those that the view would not show. */
  findAll(request: FastifyRequest, condition: Condition): Promise<readonly object[]>;
  /** Finds the record of the path for one of its files. Throws NotFound if no GET shows the file to the request. */
  findForFile(request: FastifyRequest, reply: FastifyReply, file: string): Promise<object>;
  /**
   * Checks everything besides the permissions of a route: whether the view has the record of the path, and whether an
   * overridden read operation would answer.
   *
   * @throws HttpError if the route would refuse the request
   */
  permit(request: FastifyRequest, plan: AskedPlan): Promise<void>;
}

/** The plan of the route to check. */
export interface AskedPlan {
  readonly action: string;
  readonly detail: boolean;
}

/** The resolved declarations of a view that other views use. */
export interface ShownDefinition {
  readonly meta: EntityMetadata;
  readonly permissions: readonly Permission[];
  readonly customized: Customized;
  /** How the view is nested below the records of another view. */
  readonly nesting: object | undefined;
  readonly key: KeyDefinition;
  /** How the view soft-deletes records; undefined if it deletes them for good. */
  readonly softDelete: SoftDelete | undefined;
  readonly operations?: readonly Operation[];
  /** The view's option; undefined if it is not set. */
  readonly live?: LiveOption | undefined;
}

/** A request for records of another view, and the grant of that view's permissions. */
interface ShownRequest {
  readonly shown: FastifyRequest;
  readonly grant: PermissionGrant;
}

/**
 * Reports which records a view would show to a request by GET. Nested views use it for their parent's view, and views
 * whose bodies refer to records for the view of those records. Records that the view would not show count as missing.
 */
export class ShownView<Definition extends ShownDefinition = ShownDefinition> {
  readonly #records: RecordView<Definition>;
  readonly #plan: FastifyContextConfig['viewset'];

  /** @param plan the plan of the route that shows one record; undefined if the view has none */
  constructor(records: RecordView<Definition>, plan: FastifyContextConfig['viewset']) {
    this.#records = records;
    this.#plan = plan;
  }

  get view(): PermissionView {
    return this.#records.view;
  }

  get definition(): Definition {
    return this.#records.definition;
  }

  /**
   * Checks the permissions of the view.
   *
   * @param key the record's key, as in the path; undefined for a request without a record
   * @throws NotFound if they refuse the request
   */
  ask(request: FastifyRequest, key?: string): Promise<ShownRequest> {
    return orNotFound(() => this.admit(request, key));
  }

  /** Checks the permissions of the view. If they refuse the request, throws the same error as the view's own route. */
  async admit(request: FastifyRequest, key?: string): Promise<ShownRequest> {
    const shown = this.#requestOf(request, key);
    const grant = await evaluatePermissions(this.definition.permissions, shown, this.view, { object: true });
    if (grant.denied) throw permissionDenied(request);
    stateOf(shown).grant = grant;
    return { shown, grant };
  }

  /**
   * Finds the record of a request, as an entity of `request.em` if `wantsEntity` is true. Throws NotFound if the view
   * would not show it.
   */
  find({ shown }: ShownRequest, wantsEntity: boolean): Promise<object | undefined> {
    return orNotFound(() => this.#records.find(shown, wantsEntity));
  }

  /**
   * Finds the records that match a condition and that the view shows to a request, as entities of `request.em`. Returns
   * none if the view refuses the request.
   */
  async findAll(request: FastifyRequest, condition: Condition): Promise<readonly object[]> {
    try {
      const { shown } = await this.ask(request);
      return await orNotFound(() => this.#records.findAll(shown, condition));
    } catch (error) {
      if (error instanceof NotFound) return [];
      throw error;
    }
  }

  /** Makes the request to the view, with the same user and entity manager. */
  #requestOf(request: FastifyRequest, key: string | undefined): FastifyRequest {
    const { pk: _pk, ...params } = request.params as Readonly<Record<string, string>>;
    return requestFor(request, {
      plan: this.#plan,
      method: 'GET',
      params: key === undefined ? params : { ...params, pk: key },
      pk: key === undefined ? undefined : this.#keyOf(key),
    });
  }

  #keyOf(text: string): unknown {
    const key = this.definition.key.parse(text);
    if (key === undefined) throw new NotFound();
    return key;
  }
}

/** Throws NotFound instead of an error that refuses the user. */
async function orNotFound<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    throw refuses(error) ? new NotFound(undefined, { cause: error }) : error;
  }
}

/** Reports whether an error refuses the user. */
export function refuses(error: unknown): boolean {
  const status = refusalStatus(error);
  return status === 401 || status === 403;
}
