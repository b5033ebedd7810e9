import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { HttpError, NotFound } from '../errors.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { isUnfiltered } from '../backends/entity-filters.ts';
import { evaluatePermissions } from '../permissions/evaluate.ts';
import type { Permission, PermissionView } from '../permissions/permission.ts';
import { REQUEST_STATE, stateOf } from './request-state.ts';

/** Names the property of a view of an entity that the views nested in it know it by. */
export const AS_PARENT: unique symbol = Symbol('viewset.as-parent');

/** A view of an entity, as the views that are nested in it see it. */
export interface ParentView {
  readonly view: PermissionView;
  readonly definition: ParentDefinition;
  /**
   * Looks the record of the path up, as an entity if that is wanted.
   *
   * @throws HttpError if the view would not show the record
   */
  readonly show: (request: FastifyRequest, wantsEntity: boolean) => Promise<object | undefined>;
}

/** The declarations of such a view, resolved at its place. */
export interface ParentDefinition {
  readonly meta: EntityMetadata;
  /** The column whose value names a record. */
  readonly key: FieldPath;
  readonly pkSchema: TSchema;
  /** True if a hook of the view decides which records it shows. */
  readonly narrows: boolean;
  /** The view's own parent. */
  readonly nesting: { readonly parent: Parent; readonly relation: string } | undefined;
  parsePk(text: string): unknown;
}

/**
 * The proof that a handler gives of a parent that nothing hides: it has found a record below the parent (`record`), answers with
 * records (`list`), or looks for the parent itself (`parent`).
 */
export type ParentProof = 'record' | 'list' | 'parent' | 'none';

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

interface ParentOptions extends ParentView {
  readonly permissions: readonly Permission[];
  /** The plan of the route that shows one record; undefined if the view has none. */
  readonly plan: FastifyContextConfig['viewset'];
  readonly basename: string;
  readonly parameter: string;
  readonly relation: string;
}

/** The permissions of a parent's view, asked for one request. */
interface AskedParent {
  /** True if a record that refers to the parent proves that its view would show it. */
  readonly isImplied: boolean;
  readonly find: (wantsEntity: boolean) => Promise<object | undefined>;
}

/**
 * The place of a nested view below the records of another view. That view is asked as if it was to show the record to the
 * request, by GET: what it would not show is not there, nor is anything below it.
 */
export class Parent {
  readonly definition: ParentDefinition;
  /** First half of the names of the routes of its view. */
  readonly basename: string;
  /** The parameter of the path that names the record. */
  readonly parameter: string;
  /** The relation of the nested view's entity that leads to the record. */
  readonly relation: string;
  readonly #view: PermissionView;
  readonly #show: ParentView['show'];
  readonly #permissions: readonly Permission[];
  readonly #plan: FastifyContextConfig['viewset'];

  constructor({ view, definition, show, permissions, plan, basename, parameter, relation }: ParentOptions) {
    this.definition = definition;
    this.basename = basename;
    this.parameter = parameter;
    this.relation = relation;
    this.#view = view;
    this.#show = show;
    this.#permissions = permissions;
    this.#plan = plan;
  }

  /** The parent of the parent. */
  get outer(): Parent | undefined {
    return this.definition.nesting?.parent;
  }

  /** The name of the entity of the record. */
  get entity(): string {
    return this.definition.meta.className;
  }

  /** The schemas of the keys in the path, of every level, by their parameters. */
  get keySchemas(): Readonly<Record<string, TSchema>> {
    return { ...this.outer?.keySchemas, [this.parameter]: this.definition.pkSchema };
  }

  /** Reads the key of a request's path. Throws NotFound for a key of bad form. */
  keyOf(request: FastifyRequest): unknown {
    const key = this.definition.parsePk((request.params as Readonly<Record<string, string>>)[this.parameter]!);
    if (key === undefined) throw new NotFound();
    return key;
  }

  /** Throws NotFound if a key of the path, of whatever level, has a bad form. */
  checkKeys(request: FastifyRequest): void {
    this.outer?.checkKeys(request);
    this.keyOf(request);
  }

  /** Finds the record as an entity of `request.em`. Throws NotFound if its view would not show it. */
  async find(request: FastifyRequest): Promise<object> {
    const { find } = await this.#ask(request);
    return (await find(true)) as object;
  }

  /** Makes a handler answer NotFound if the view of the record would not show it. Looks it up only for want of a proof. */
  guard(handler: Handler, proof: ParentProof): Handler {
    if (proof === 'parent') return handler;
    return async (request, reply) => {
      const { isImplied, find } = await this.#ask(request);
      if (proof === 'none' || !isImplied) await find(false);
      const answer = await handler(request, reply);
      if (proof === 'list' && isImplied && answer !== reply && !hasRecords(answer)) await find(false);
      return answer;
    };
  }

  async #ask(request: FastifyRequest): Promise<AskedParent> {
    const { meta, narrows } = this.definition;
    const { outer: above } = this;
    const outer = above === undefined ? undefined : await above.#ask(request);
    const shown = this.#requestOf(request);
    const grant = await orNotFound(async () =>
      evaluatePermissions(this.#permissions, shown, this.#view, { object: true }),
    );
    if (grant.denied) throw new NotFound();
    stateOf(shown).grant = grant;
    const isOpen = !narrows && grant.scope === undefined && !grant.needsObject && isUnfiltered(request.reader, meta);
    return {
      isImplied: isOpen && outer?.isImplied !== false,
      find: async (wantsEntity) => {
        if (outer?.isImplied === false) await outer.find(false);
        return orNotFound(() => this.#show(shown, wantsEntity));
      },
    };
  }

  /** Makes the request that asks the view of the record for it, with the same user and entity manager. */
  #requestOf(request: FastifyRequest): FastifyRequest {
    const outer = stateOf(request);
    const params = request.params as Readonly<Record<string, string>>;
    const state = Object.create(outer, {
      em: {
        get: () => outer.em,
        set: (em: typeof outer.em) => {
          outer.em = em;
        },
      },
      grant: { value: undefined, writable: true },
      pk: { value: this.keyOf(request), writable: true },
      parameters: { value: undefined, writable: true },
      object: { value: undefined, writable: true },
      answers: { value: undefined, writable: true },
    }) as typeof outer;
    return Object.create(request, {
      [REQUEST_STATE]: { value: state },
      method: { value: 'GET' },
      params: { value: { ...params, pk: params[this.parameter] } },
      query: { value: {} },
      body: { value: undefined },
      routeOptions: { get: () => ({ ...request.routeOptions, config: { viewset: this.#plan } }) },
    }) as FastifyRequest;
  }
}

/** Throws NotFound in the place of an error that refuses the user. */
async function orNotFound<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    const isRefused = error instanceof HttpError && [401, 403].includes(error.statusCode);
    throw isRefused ? new NotFound(undefined, { cause: error }) : error;
  }
}

/** Tells if a list or a page shows a record; an answer of another form tells nothing. */
function hasRecords(answer: unknown): boolean {
  const records = Array.isArray(answer) ? answer : (answer as { results?: unknown } | null | undefined)?.results;
  return Array.isArray(records) && records.length > 0;
}
