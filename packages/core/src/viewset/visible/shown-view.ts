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

/** Names the property of a view of an entity by which other views ask for its records. */
export const SHOWS: unique symbol = Symbol('viewset.shows');

/** The records of a view, as it would show them to a request of somebody else's. */
export interface RecordView<Definition extends ShownDefinition> {
  readonly view: PermissionView;
  readonly definition: Definition;
  /**
   * Finds the record of the path, as an entity if that is wanted.
   *
   * @throws HttpError if the view would not show the record
   */
  find(request: FastifyRequest, wantsEntity: boolean): Promise<object | undefined>;
  /** Finds the records of a condition as entities; those that the view would not show are left out. */
  findAll(request: FastifyRequest, condition: Condition): Promise<readonly object[]>;
  /** Finds the record of the path for one of its files. Throws NotFound if no GET shows the file to the request. */
  findForFile(request: FastifyRequest, reply: FastifyReply, file: string): Promise<object>;
  /**
   * Asks what only the request itself can tell, beside the permissions of the route: if the view has the record of the path, and if
   * an override that reads would answer.
   *
   * @throws HttpError if the route would refuse the request
   */
  permit(request: FastifyRequest, plan: AskedPlan): Promise<void>;
}

/** The plan of the route that a request is asked about. */
export interface AskedPlan {
  readonly action: string;
  readonly detail: boolean;
}

/** The declarations of such a view, resolved at its place. */
export interface ShownDefinition {
  readonly meta: EntityMetadata;
  readonly permissions: readonly Permission[];
  readonly customized: Customized;
  /** The place of the view below the records of another one. */
  readonly nesting: object | undefined;
  readonly key: KeyDefinition;
  /** The way to delete records and keep them; undefined if a deleted one is gone. */
  readonly softDelete: SoftDelete | undefined;
  readonly operations?: readonly Operation[];
  /** The view's option; undefined if it says nothing. */
  readonly live?: LiveOption | undefined;
}

/** A request for records of another view, and the answer of that view's permissions. */
interface ShownRequest {
  readonly shown: FastifyRequest;
  readonly grant: PermissionGrant;
}

/**
 * A view that other views ask which of its records it shows to a request, as if it was to show them by GET: views that are nested
 * in it, and views whose bodies refer to its records. What it would not show is not there.
 */
export class ShownView<Definition extends ShownDefinition = ShownDefinition> {
  readonly #records: RecordView<Definition>;
  readonly #plan: FastifyContextConfig['viewset'];

  /** @param plan that of the route which shows one record; undefined if the view has none */
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
   * Asks the permissions of the view.
   *
   * @param key names a record, as it stands in the path; undefined for a request that names none
   * @throws NotFound if they refuse the request
   */
  ask(request: FastifyRequest, key?: string): Promise<ShownRequest> {
    return orNotFound(() => this.admit(request, key));
  }

  /** Asks the permissions of the view. Throws the error by which they refuse the request, as its own route would. */
  async admit(request: FastifyRequest, key?: string): Promise<ShownRequest> {
    const shown = this.#requestOf(request, key);
    const grant = await evaluatePermissions(this.definition.permissions, shown, this.view, { object: true });
    if (grant.denied) throw permissionDenied(request);
    stateOf(shown).grant = grant;
    return { shown, grant };
  }

  /** Finds the record that a request names, as an entity of `request.em` if that is wanted. Throws NotFound if the view would not show it. */
  find({ shown }: ShownRequest, wantsEntity: boolean): Promise<object | undefined> {
    return orNotFound(() => this.#records.find(shown, wantsEntity));
  }

  /** Finds the records of a condition that the view shows to a request, as entities of `request.em`; none if it refuses the request. */
  async findAll(request: FastifyRequest, condition: Condition): Promise<readonly object[]> {
    try {
      const { shown } = await this.ask(request);
      return await orNotFound(() => this.#records.findAll(shown, condition));
    } catch (error) {
      if (error instanceof NotFound) return [];
      throw error;
    }
  }

  /** Makes the request that asks the view, with the same user and entity manager. */
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

/** Throws NotFound in the place of an error that refuses the user. */
async function orNotFound<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    throw refuses(error) ? new NotFound(undefined, { cause: error }) : error;
  }
}

/** Tells if an error refuses the user. */
export function refuses(error: unknown): boolean {
  const status = refusalStatus(error);
  return status === 401 || status === 403;
}
