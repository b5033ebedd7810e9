import type { EntityName } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors.ts';
import { nearest } from '../../nearest.ts';
import { isRecord } from '../../json.ts';
import { wrongOption } from '../../options.ts';
import { type ReadShape, toReadShape } from '../../shapes/read/read-shape.ts';
import type { ObjectSchema } from '../../shapes/schema-object.ts';
import { ANSWERING, type AnsweringOperation, isAnswering } from '../request/answer.ts';
import type { Operation } from '../request/operation.ts';

/**
 * The read shapes of a view by name: `list`, `retrieve`, `create` and `update` are those of the operations, `default` is that
 * of every other one, and any further name is a shape that `readShapeFor` may choose.
 */
export interface ReadShapes<Entity extends object> {
  readonly [name: string]: ReadShape<Entity, object> | ObjectSchema;
}

/** A shape, told by its form from several by name. */
export type OneShape = { readonly bind: (...args: never) => unknown } | ObjectSchema;

/** The names of the shapes that no operation has by itself. */
export type AlternativeName<Read> = Read extends OneShape
  ? never
  : Exclude<keyof Read & string, AnsweringOperation | 'default'>;

/** The shapes of a `read` option that names them. */
export type ShapesByName = ReadonlyMap<string, ReadShape<object, object>>;

/** The declarations of a view that its read shapes have to fit. */
interface ReadDeclaration {
  readonly name: string;
  readonly entity: EntityName<object>;
  readonly operations: readonly Operation[];
  /** True if the view overrides `readShapeFor`. */
  readonly isChosen: boolean;
}

/**
 * Reads the `read` option: one shape is that of every operation.
 *
 * @throws ImproperlyConfigured for what is no shape, for an operation without one, and for a shape that nothing can send
 */
export function readShapesOf(read: unknown, declaration: ReadDeclaration): ShapesByName {
  const { name, entity } = declaration;
  if (isShape(read)) return new Map([['default', toReadShape(entity, read)]]);
  if (!isRecord(read) || Object.keys(read).length === 0) {
    throw wrongOption(name, 'read', 'a readShape(), a Type.Object(), or an object of these by operation', read);
  }
  const shapes = new Map<string, ReadShape<object, object>>();
  for (const [key, shape] of Object.entries(read)) {
    if (!isShape(shape)) throw wrongOption(name, `read.${key}`, 'a readShape() or a Type.Object()', shape);
    shapes.set(key, toReadShape(entity, shape));
  }
  checkNames(shapes, declaration);
  return shapes;
}

/** Tells if a value is a shape: one that was made, or a schema written by hand. */
export function isShape(value: unknown): value is ReadShape<object, object> {
  if (!isRecord(value)) return false;
  return typeof value['bind'] === 'function' || (value['type'] === 'object' && isRecord(value['properties']));
}

function checkNames(shapes: ShapesByName, { name, operations, isChosen }: ReadDeclaration): void {
  const answering: readonly string[] = ANSWERING.filter((operation) => operations.includes(operation));
  const missing = shapes.has('default') ? [] : answering.filter((operation) => !shapes.has(operation));
  if (missing.length > 0) {
    throw new ImproperlyConfigured(
      `${name}: option "read" needs a shape of the name "default", or one for ${missing.join(', ')}`,
    );
  }
  for (const key of shapes.keys()) {
    if (key === 'default' || answering.includes(key)) continue;
    if (isAnswering(key)) {
      throw new ImproperlyConfigured(`${name}: option "read" has a shape for "${key}", which the view does not offer`);
    }
    const meant = nearest(key, ['default', ...ANSWERING]);
    if (isChosen && meant === undefined) continue;
    const hint = meant === undefined ? 'only readShapeFor() could choose it' : `did you mean "${meant}"?`;
    throw new ImproperlyConfigured(`${name}: option "read" names a shape "${key}", which no operation has; ${hint}`);
  }
}
