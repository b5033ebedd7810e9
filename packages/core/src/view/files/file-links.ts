import type { EntityMetadata, EntityName, EntityProperty, MikroORM } from '@mikro-orm/core';
import { findFieldPath } from '../../fields/field-path.ts';
import { isToOne, onlyPrimaryKey, referredKey } from '../../fields/property.ts';
import { declareFileRoute } from '../../files/file-routes.ts';
import { isRecord } from '../../support/json.ts';
import { kebabCase } from '../../support/kebab-case.ts';
import { templateFiller, templateParameters } from '../../http/path-template.ts';
import { namesShowing, type ReadShape, toReadShape } from '../../shapes/read/read-shape.ts';
import { WriteShape } from '../../shapes/write/write-shape.ts';
import { isShape } from '../request/named-shapes.ts';
import { type Operation, operationsOf, rowOf } from '../request/operation.ts';

/**
 * Returns the path of a file's route below its record. Links always use it, even if a router makes other paths from
 * names.
 */
export function filePath(field: string): string {
  return kebabCase(field);
}

/** The key of the property with the declarations that links to a view's files are made from. */
export const FILE_LINKS: unique symbol = Symbol('viewset.file-links');

/** The declarations of a view that links to its files are made from. */
export interface LinkedView {
  readonly entity: EntityName<object>;
  /** The field that identifies a record in its path. Default: the primary key. */
  readonly lookupField?: string | undefined;
  /** If it is set, the view's paths have no key. */
  readonly singleton?: unknown;
  /** A write shape, or several by operation. */
  readonly write?: unknown;
  /** A read shape, or several by operation and by name. */
  readonly read?: unknown;
  readonly operations?: readonly Operation[] | undefined;
}

/** A parent view in the path, and the relation of the nested view's entity to the parent's records. */
export interface LinkedParent {
  readonly view: LinkedView;
  readonly parameter: string;
  readonly relation: string;
}

/**
 * Registers which view serves each file, so that links can be built. A router registers all its views before shapes are
 * compiled, so that a parent may show the files of nested records.
 *
 * A view is skipped if a record does not determine its path: below a relation to many, below a nullable relation, below
 * a prefix with parameters, and for a singleton, whose path leads each user to another record.
 *
 * @param path the path of the view's collection, `/api/tickets/:ticket/attachments`
 * @param parents the parents in the path, the nearest first
 */
export function declareFileLinks(
  orm: MikroORM,
  view: LinkedView,
  path: string,
  parents: readonly LinkedParent[],
): void {
  const meta = orm.getMetadata().find(view.entity);
  if (meta === undefined || view.singleton !== undefined) return;
  const known = new Map([['pk', keyOf(meta, view)]]);
  let way = '';
  for (const { view: parent, parameter, relation } of parents) {
    const target = orm.getMetadata().find(parent.entity);
    way += way === '' ? relation : `.${relation}`;
    known.set(parameter, target && parentKey(meta, way, keyOf(target, parent)));
  }
  for (const field of sentFiles(view)) {
    const property = meta.properties[field as never] as EntityProperty | undefined;
    const template = `${path}/:pk/${filePath(field)}`;
    const parameters = templateParameters(template);
    const keys = parameters.flatMap((parameter) => known.get(parameter) ?? []);
    if (property === undefined || keys.length < parameters.length) continue;
    const fill = templateFiller(template);
    declareFileRoute(property, { keys, pathOf: (values) => fill((name) => values[parameters.indexOf(name)]) });
  }
}

function keyOf(meta: EntityMetadata, { lookupField }: LinkedView): string | undefined {
  return lookupField ?? onlyPrimaryKey(meta)?.name;
}

/**
 * Returns the field of a record that identifies its parent in the path. Undefined unless every record has exactly one
 * parent.
 */
function parentKey(meta: EntityMetadata, relation: string, key: string | undefined): string | undefined {
  const held = findFieldPath(meta, relation, '.');
  if (key === undefined || typeof held === 'string' || held.toMany || held.nullable) return undefined;
  // A relation reads as the key that it refers to.
  return isToOne(held.property) && referredKey(held.property).name === key ? relation : `${relation}.${key}`;
}

/**
 * Lists the files of a view that have a route. The view must accept the file, show single records, and show the file in
 * a read shape of a GET. Each request is checked separately.
 */
export function sentFiles({ entity, read, write, operations, singleton }: LinkedView): readonly string[] {
  if (!operationsOf({ operations, write, singleton }).includes('retrieve')) return [];
  const shapes = isShape(read)
    ? [read]
    : Object.entries(read ?? {}).flatMap(([name, shape]) => {
        return rowOf(name)?.takesRecord === true || !isShape(shape) ? [] : [shape];
      });
  const shown = shapes.map((shape) => toReadShape(entity, shape as ReadShape<object, object>));
  return filesOf(write).filter((file) => shown.some((shape) => namesShowing(shape, file).length > 0));
}

/** Lists the files of write shapes. */
function filesOf(write: unknown): readonly string[] {
  const shapes = isShape(write) || !isRecord(write) ? [write] : Object.values(write);
  return [...new Set(shapes.flatMap((shape) => (shape instanceof WriteShape ? shape.files : [])))];
}
