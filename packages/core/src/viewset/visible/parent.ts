import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { ImproperlyConfigured, NotFound } from '../../errors.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { isUnfiltered } from '../../backends/entity-filters.ts';
import type { KeyDefinition } from './record-key.ts';
import { stateOf } from '../request/request-state.ts';
import type { PathKey } from './refused-values.ts';
import type { ShownDefinition, ShownView } from './shown-view.ts';

/** The declarations of a view in which others are nested. */
export interface ParentDefinition extends ShownDefinition {
  readonly key: KeyDefinition & { readonly column: FieldPath };
  /** The view's own parent. */
  readonly nesting: { readonly parent: Parent; readonly relation: string } | undefined;
}

/**
 * The proof that a handler gives of a parent that nothing hides: it has found a record below the parent (`record`), answers with
 * records (`list`), or looks for the parent itself (`parent`).
 */
export type ParentProof = 'record' | 'list' | 'parent' | 'none';

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

interface ParentOptions {
  readonly shown: ShownView<ParentDefinition>;
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
  readonly #shown: ShownView<ParentDefinition>;

  /** @throws ImproperlyConfigured for a singleton, whose record no path names */
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

  /** The name of the entity of the record. */
  get entity(): string {
    return this.definition.meta.className;
  }

  /** The schemas of the keys in the path, of every level, by their parameters. */
  get keySchemas(): Readonly<Record<string, TSchema>> {
    return { ...this.outer?.keySchemas, [this.parameter]: this.definition.key.schema };
  }

  /** Reads the key of a request's path. Throws NotFound for a key of bad form. */
  keyOf(request: FastifyRequest): unknown {
    const key = this.definition.key.parse(this.#textOf(request));
    if (key === undefined) throw new NotFound();
    return key;
  }

  /**
   * Reads the keys of a request's path, of every level.
   *
   * @throws NotFound if one of them has a bad form
   */
  keysOf(request: FastifyRequest): PathKey[] {
    const { meta, key } = this.definition;
    return [...(this.outer?.keysOf(request) ?? []), { meta, column: key.column, value: this.keyOf(request) }];
  }

  /** Finds the record as an entity of `request.em`. Throws NotFound if its view would not show it. */
  async find(request: FastifyRequest): Promise<object> {
    const { find } = await this.#ask(request);
    return (await find(true)) as object;
  }

  /** Throws NotFound if the view of the record would not show it. */
  async check(request: FastifyRequest): Promise<void> {
    const { find } = await this.#ask(request);
    await find(false);
  }

  /**
   * Makes a handler answer NotFound if the view of the record would not show it. Looks it up only for want of a proof.
   *
   * @param member the member of a page that has its records
   */
  guard(handler: Handler, proof: ParentProof, member: string): Handler {
    return async (request, reply) => {
      stateOf(request).reply = reply;
      if (proof === 'parent') return handler(request, reply);
      const { isImplied, find } = await this.#ask(request);
      if (proof === 'none' || !isImplied) await find(false);
      const answer = await handler(request, reply);
      if (proof === 'list' && isImplied && answer !== reply && !hasRecords(answer, member)) await find(false);
      return answer;
    };
  }

  async #ask(request: FastifyRequest): Promise<AskedParent> {
    const { meta, customized, softDelete } = this.definition;
    const { outer: above } = this;
    const outer = above === undefined ? undefined : await above.#ask(request);
    const asked = await this.#shown.ask(request, this.#textOf(request));
    const { grant } = asked;
    // A relation to what an entity extends may lead to another one of the same table.
    const isWholeTable = meta.root.class === meta.class;
    const isOpen =
      !customized.hidesRecords &&
      softDelete === undefined &&
      isWholeTable &&
      grant.scope === undefined &&
      !grant.needsObject &&
      isUnfiltered(request.reader, meta);
    return {
      isImplied: isOpen && outer?.isImplied !== false,
      find: async (wantsEntity) => {
        if (outer?.isImplied === false) await outer.find(false);
        return this.#shown.find(asked, wantsEntity);
      },
    };
  }

  #textOf(request: FastifyRequest): string {
    return (request.params as Readonly<Record<string, string>>)[this.parameter]!;
  }
}

/** Tells if a list or a page shows a record; an answer of another form tells nothing. */
function hasRecords(answer: unknown, member: string): boolean {
  const records = Array.isArray(answer)
    ? answer
    : (answer as Readonly<Record<string, unknown>> | null | undefined)?.[member];
  return Array.isArray(records) && records.length > 0;
}
