import type { FilterOptions } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { always, and, type Condition } from '../../query/language/condition.ts';
import { wrongOption } from '../../errors/options.ts';
import { evaluatePermissions } from '../../permissions/evaluate.ts';
import {
  makePermissions,
  type Permission,
  type PermissionClass,
  type PermissionView,
} from '../../permissions/permission.ts';
import type { Reference } from '../../shapes/write/bound-input.ts';
import { findVisible } from '../../shapes/write/references.ts';
import type { ShownRecords } from '../records/shown-records.ts';

type ByField<Value> = Readonly<Record<string, Value | undefined>>;

/** The options about the references of bodies, by field path. */
export interface ReferenceOptions {
  readonly referencePermissions?: ByField<readonly PermissionClass[]>;
  readonly referenceViews?: ByField<unknown>;
}

/** The declarations that limit the references of one field. */
interface Limits {
  readonly field: string;
  readonly permissions: readonly Permission[];
  /** The value of `referenceViews` for the field; undefined if there is none. */
  readonly View: unknown;
  shown: ShownRecords | undefined;
}

/**
 * The records that the bodies of a view may refer to. By default, the filters of their entity and of the view's query
 * set show them, and no view has marked them as deleted. With `referenceViews`, the named view shows them to the
 * request. Permissions narrow both.
 */
export class ReferredRecords {
  readonly #view: PermissionView;
  readonly #limits = new Map<Reference, Limits>();
  readonly #references: readonly Reference[];
  /**
   * The conditions that no view has marked a record as deleted, for references to entities of a view that deletes by
   * a mark.
   */
  readonly #alive = new Map<Reference, Condition>();

  /**
   * @param references the references of the view's bodies by field path; several shapes may share a path
   * @throws ImproperlyConfigured for a field that is no reference of the write shape
   */
  constructor(
    view: PermissionView,
    references: ReadonlyMap<string, readonly Reference[]>,
    { referencePermissions = {}, referenceViews = {} }: ReferenceOptions,
  ) {
    this.#view = view;
    this.#references = [...references.values()].flat();
    const known = [...references.keys()].join(', ') || 'none';
    for (const [option, declared] of Object.entries({ referencePermissions, referenceViews })) {
      const unknown = Object.keys(declared).find((field) => !references.has(field));
      if (unknown === undefined) continue;
      throw new ImproperlyConfigured(
        `${view.name}: option "${option}" names "${unknown}", which is no reference of the write shape; it has: ${known}`,
      );
    }
    for (const field of new Set([...Object.keys(referencePermissions), ...Object.keys(referenceViews)])) {
      const classes = referencePermissions[field] ?? [];
      const referring = references.get(field)!;
      const owner = `${view.name}: referencePermissions.${field}`;
      const permissions = makePermissions(classes, owner, referring[0]?.target);
      const limits: Limits = { field, permissions, View: referenceViews[field], shown: undefined };
      for (const reference of referring) this.#limits.set(reference, limits);
    }
  }

  /**
   * Finds the views of the option `referenceViews`.
   *
   * @throws ImproperlyConfigured if a view is not registered, or cannot find several records of the field
   */
  findViews(registered: readonly ShownRecords[]): void {
    for (const reference of this.#references) {
      const { target } = reference;
      const conditions = registered.flatMap(({ definition: { meta, features } }) =>
        features.deletion !== undefined && meta.root === target.root ? [features.deletion.withoutMark(target)] : [],
      );
      if (conditions.length > 0) this.#alive.set(reference, and(...conditions));
    }
    for (const [{ target }, limits] of this.#limits) {
      if (limits.View === undefined) continue;
      const { field, View } = limits;
      const owner = `${this.#view.name}: option "referenceViews"`;
      const Class = View === 'self' ? this.#view.constructor : View;
      const views = registered.filter(({ view }) => view.constructor === Class);
      if (typeof Class !== 'function') throw wrongOption(owner, field, 'a view class, or "self"', View);
      const shown = views.find(({ definition }) => definition.nesting === undefined);
      const why =
        shown === undefined
          ? views.length === 0
            ? 'which is not registered'
            : 'which is registered below other records alone'
          : reasonAgainst(shown, target);
      if (why !== undefined) throw new ImproperlyConfigured(`${owner} names ${Class.name} for "${field}", ${why}`);
      limits.shown = shown;
    }
  }

  /**
   * Finds the records that match a condition and that a reference of the request's body may point to.
   *
   * @param filters the MikroORM filters that the view has enabled
   */
  async find(
    request: FastifyRequest,
    reference: Reference,
    condition: Condition,
    filters: FilterOptions,
  ): Promise<readonly object[]> {
    const { target } = reference;
    const { permissions = [], shown } = this.#limits.get(reference) ?? {};
    // Permissions see a view of the referenced entity.
    const view = {
      name: this.#view.name,
      getAction: (simulated: FastifyRequest) => this.#view.getAction(simulated),
      meta: target,
    };
    const grant = await evaluatePermissions(permissions, request, view, { object: true });
    if (grant.denied) return [];
    const narrowed = grant.scope === undefined ? condition : and(condition, grant.scope);
    const found =
      shown === undefined
        ? await findVisible(request.em, reference, and(narrowed, this.#alive.get(reference) ?? always), filters)
        : await shown.findAll(request, narrowed);
    const allowed: object[] = [];
    for (const record of found) if (await grant.allows(record)) allowed.push(record);
    return allowed;
  }
}

/** Explains why a view cannot find the records of an entity; undefined if it can. */
function reasonAgainst({ definition }: ShownRecords, target: Reference['target']): string | undefined {
  if (definition.meta.root !== target.root) {
    return `whose records are of ${definition.meta.className}, and those of the field of ${target.className}`;
  }
  if (definition.key.singleton !== undefined) return 'which is a singleton, and shows one record alone';
  const finder = definition.overrides.recordFinder;
  if (finder !== undefined) {
    return `which overrides ${finder}, where it is asked for one record; override getQueryset or checkObjectPermissions`;
  }
  return undefined;
}
