import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { ImproperlyConfigured, orNotFound } from '../../errors/errors.ts';
import { isUnfiltered } from '../../backends/entity-filters.ts';
import type { PermissionGrant } from '../../permissions/evaluate.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import { stateOf } from '../request/request-state.ts';
import type { PathKey } from './database-rejections.ts';
import type { DeletionMark } from './deletion-mark.ts';
import type { RecordKey } from './record-key.ts';
import type { ParentProof } from '../request/operation.ts';

/** The declarations of a view that has nested views. */
export interface ParentDefinition {
  readonly meta: EntityMetadata;
  readonly overrides: ViewOverrides;
  readonly key: RecordKey;
  /** The parent of this view. */
  readonly nesting: { readonly parent: Parent } | undefined;
  /** What the features of the view add: whether they leave out records, and how they delete them. */
  readonly features: { readonly narrows: boolean; readonly deletion: DeletionMark | undefined };
}

/** A request for records of another view, and the grant of that view's permissions. */
export interface ShownRequest {
  readonly shown: FastifyRequest;
  readonly grant: PermissionGrant;
}

/** The records that the parent's view would show to a request by GET. */
interface ShownParents {
  readonly view: { readonly name: string };
  readonly definition: ParentDefinition;
  /** Checks the permissions of the view. Throws NotFound if they refuse the request. */
  ask(request: FastifyRequest, key: string): Promise<ShownRequest>;
  /** Finds the record, as an entity if `wantsEntity` is true. Throws NotFound if the view would not show it. */
  find(admitted: ShownRequest, wantsEntity: boolean): Promise<object | undefined>;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

interface ParentOptions {
  readonly shown: ShownParents;
  readonly basename: string;
  readonly parameter: string;
  readonly relation: string;
}

/** The result of the permissions of a parent's view, for one request. */
interface ParentLookUp {
  /** True if any record that refers to the parent proves that the parent's view would show it. */
  readonly isImplied: boolean;
  readonly find: (wantsEntity: boolean) => Promise<object | undefined>;
}

/**
 * The parent of a nested view. The parent's view decides, as for a GET of the parent record. If it would not show the
 * parent, the parent and everything below it give 404.
 */
export class Parent {
  readonly definition: ParentDefinition;
  /** The first half of the names of the view's routes. */
  readonly basename: string;
  /** The parameter of the path that identifies the parent record. */
  readonly parameter: string;
  /** The relation of the nested view's entity to the parent record. */
  readonly relation: string;
  readonly #shown: ShownParents;

  /** @throws ImproperlyConfigured for a singleton, whose path has no key */
  constructor({ shown, basename, parameter, relation }: ParentOptions) {
    if (shown.definition.key.singleton !== undefined) {
      throw new ImproperlyConfigured(
        `Router: ":${parameter}" would name a record of ${shown.view.name}, which is a singleton: its paths have no key`,
      );
    }
    this.definition = shown.definition;
    this.basename = basename;
    this.parameter = parameter;
    this.relation = relation;
    this.#shown = shown;
  }

  /** The parent of the parent. */
  get outer(): Parent | undefined {
    return this.definition.nesting?.parent;
  }

  /** The name of the parent's entity. */
  get entity(): string {
    return this.definition.meta.className;
  }

  /** The schemas of the keys in the path, of every level, by parameter. */
  get keySchemas(): Readonly<Record<string, TSchema>> {
    return { ...this.outer?.keySchemas, [this.parameter]: this.definition.key.schema };
  }

  /** Reads the parent's key from a request's path. Throws NotFound for a malformed key. */
  keyOf(request: FastifyRequest): unknown {
    return orNotFound(this.definition.key.parse(this.#textOf(request)));
  }

  /**
   * Reads the keys from a request's path, of every level.
   *
   * @throws NotFound for a malformed key
   */
  keysOf(request: FastifyRequest): PathKey[] {
    const { meta, key } = this.definition;
    return [...(this.outer?.keysOf(request) ?? []), { meta, column: key.column, value: this.keyOf(request) }];
  }

  /** Finds the parent record as an entity of `request.em`. Throws NotFound if its view would not show it. */
  async find(request: FastifyRequest): Promise<object> {
    const { find } = await this.#ask(request);
    return (await find(true)) as object;
  }

  /** Throws NotFound if the view of the parent record would not show it. */
  async check(request: FastifyRequest): Promise<void> {
    const { find } = await this.#ask(request);
    await find(false);
  }

  /**
   * Makes a handler respond with NotFound if the parent's view would not show the parent. It looks the parent up only
   * if the handler's result does not prove that it exists.
   *
   * @param member the member of a page that holds its records
   */
  guard(handler: Handler, proof: ParentProof, member: string): Handler {
    return async (request, reply) => {
      stateOf(request).reply = reply;
      if (proof === 'parent') return handler(request, reply);
      const { isImplied, find } = await this.#ask(request);
      if (proof === 'none' || !isImplied) await find(false);
      const result = await handler(request, reply);
      if (proof === 'list' && isImplied && result !== reply && !hasRecords(result, member)) await find(false);
      return result;
    };
  }

  async #ask(request: FastifyRequest): Promise<ParentLookUp> {
    const { meta, overrides, features } = this.definition;
    const { outer: above } = this;
    const outer = above === undefined ? undefined : await above.#ask(request);
    const admitted = await this.#shown.ask(request, this.#textOf(request));
    const { grant } = admitted;
    // A relation to a base entity may lead to another entity in the same table.
    const isRootClass = meta.root.class === meta.class;
    const isOpen =
      !overrides.hidesRecords &&
      !features.narrows &&
      isRootClass &&
      grant.scope === undefined &&
      !grant.needsObject &&
      isUnfiltered(request.reader, meta);
    return {
      isImplied: isOpen && outer?.isImplied !== false,
      find: async (wantsEntity) => {
        if (outer?.isImplied === false) await outer.find(false);
        return this.#shown.find(admitted, wantsEntity);
      },
    };
  }

  #textOf(request: FastifyRequest): string {
    return (request.params as Readonly<Record<string, string>>)[this.parameter]!;
  }
}

/** Reports whether a list or page contains a record. False for a result of any other form. */
function hasRecords(result: unknown, member: string): boolean {
  const records = Array.isArray(result)
    ? result
    : (result as Readonly<Record<string, unknown>> | null | undefined)?.[member];
  return Array.isArray(records) && records.length > 0;
}
