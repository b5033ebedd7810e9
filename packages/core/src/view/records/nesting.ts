import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { fieldPath, type FieldPath } from '../../fields/field-path.ts';
import { isPolymorphic, isToOne, ownsColumn, referredKey } from '../../fields/property.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { compare } from '../../query/language/compare.ts';
import { and, type Condition } from '../../query/language/condition.ts';
import type { Parent } from './parent.ts';

/** A parent at any level, and the column of the nested view's entity that refers to it. */
interface Level {
  readonly parent: Parent;
  readonly path: FieldPath;
}

/**
 * The records of a nested view: those of the parent in the path, and of its parents.
 *
 * @throws ImproperlyConfigured if no relation leads from the entity to the parent's entity
 */
export class Nesting {
  readonly parent: Parent;
  /** The relation to the parent. Clients never write it. */
  readonly relation: string;
  readonly #property: EntityProperty;
  readonly #levels: readonly Level[];
  readonly #conditions = new WeakMap<FastifyRequest, Condition>();

  /** @param name the name of the nested view, for errors */
  constructor(name: string, meta: EntityMetadata, parent: Parent) {
    this.parent = parent;
    this.relation = parent.relation;
    this.#property = relationTo(name, meta, parent);
    this.#levels = levelsOf(meta, parent);
  }

  /** Selects the records of the parents in a request's path. */
  condition(request: FastifyRequest): Condition {
    return getOrMake(this.#conditions, request, () =>
      and(...this.#levels.map(({ parent, path }) => compare(path, 'exact', parent.keyOf(request)))),
    );
  }

  /**
   * Finds the parent of a new record, and returns it under the name of the relation. Throws NotFound if the view of the
   * parent would not show it.
   */
  async parentOf(request: FastifyRequest): Promise<object> {
    const found = await this.parent.find(request);
    if (!isToOne(this.#property)) return { [this.relation]: [found] };
    const { mapToPk } = this.#property;
    const value = mapToPk === true ? found[referredKey(this.#property).name as keyof typeof found] : found;
    return { [this.relation]: value };
  }
}

function relationTo(
  name: string,
  meta: EntityMetadata,
  { relation, entity, definition, parameter }: Parent,
): EntityProperty {
  const leadsThere = (property: EntityProperty): boolean =>
    !isPolymorphic(property) &&
    property.targetMeta?.root === definition.meta.root &&
    (ownsColumn(property) || property.kind === ReferenceKind.MANY_TO_MANY);
  const property = meta.relations.find((one) => one.name === relation);
  if (property !== undefined && leadsThere(property)) return property;
  const fitting = meta.relations.filter(leadsThere).map((one) => one.name);
  throw new ImproperlyConfigured(
    `${name}: below ":${parameter}" its records need a relation to ${entity}, to one or many to many, but ${meta.className} has no ` +
      `such "${relation}"; name the parameter or the option "parent" after one of: ${fitting.join(', ') || 'none'}`,
  );
}

function levelsOf(meta: EntityMetadata, nearest: Parent): Level[] {
  const levels: Level[] = [];
  let way = '';
  for (let parent: Parent | undefined = nearest; parent !== undefined; parent = parent.outer) {
    const key = parent.definition.key.column;
    way += way === '' ? parent.relation : `.${parent.relation}`;
    // A relation reads as the key that it refers to.
    const relationPath = fieldPath(meta, way, '.');
    const isHeld = isToOne(relationPath.property) && referredKey(relationPath.property) === key.property;
    levels.push({ parent, path: isHeld ? relationPath : fieldPath(meta, `${way}.${key.key}`, '.') });
  }
  return levels;
}
