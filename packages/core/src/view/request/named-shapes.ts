import type { FastifyRequest } from 'fastify';
import { requireSync } from '../../support/awaitable.ts';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { isEmpty, isRecord } from '../../support/json.ts';
import { nearest } from '../../errors/nearest.ts';
import { describe, wrongOption } from '../../errors/options.ts';
import type { ReadShape } from '../../shapes/read/read-shape.ts';
import type { ObjectSchema } from '../../shapes/schema-object.ts';
import type { WriteShape } from '../../shapes/write/write-shape.ts';
import { OUTPUT_OPERATIONS, type OutputOperation, byName, isOutputOperation } from './operation.ts';

/**
 * The read shapes of a view by name. `list`, `retrieve`, `create` and `update` belong to the operations, `default` to all others.
 * `readShapeFor` can choose shapes with other names.
 */
export interface ReadShapes<Entity extends object> {
  readonly [name: string]: ReadShape<Entity, object> | ObjectSchema;
}

/**
 * The write shapes of a view by name. `create` is for POST, `update` for PUT and PATCH, `default` for the operation
 * that has none. `writeShapeFor` can choose shapes with other names.
 */
export interface WriteShapes<Entity extends object> {
  readonly [name: string]: WriteShape<Entity, object> | ObjectSchema;
}

/** A single shape. Its form distinguishes it from several shapes by name. */
export type OneShape = { readonly bind: (...args: never) => unknown } | ObjectSchema;

/** The names of the shapes that no operation uses by default. */
export type AlternativeName<Shapes> = Shapes extends OneShape
  ? never
  : Exclude<keyof Shapes & string, OutputOperation | 'default'>;

/** The shapes that an operation may use: its default, and those that a view may choose. */
export type ShapesOf<Shapes, Operation> = Shapes extends OneShape
  ? Shapes
  : Shapes[((Operation extends keyof Shapes ? Operation : 'default') | AlternativeName<Shapes>) & keyof Shapes];

/** The hook that chooses a shape for a request: its name, and the method if the view overrides it. */
interface ShapeHook<Operation> {
  readonly owner: string;
  readonly choose: ((request: FastifyRequest, operation: Operation) => string | undefined) | undefined;
}

/** The declarations that a view's shapes must fit. */
interface ShapesDeclaration<Shape> {
  /** The name of the view. */
  readonly name: string;
  readonly option: 'read' | 'write';
  /** The operations of the view that use a shape. */
  readonly operations: readonly string[];
  /** True if the view overrides the hook that chooses a shape. */
  readonly isChosen: boolean;
  /** Makes the shape from its declaration. */
  readonly make: (shape: OneShape, option: string) => Shape;
}

/**
 * Reads the option `read` or `write`. A single shape applies to every operation.
 *
 * @throws ImproperlyConfigured for a value that is not a shape, for an operation without a shape, and for a shape that
 * nothing can choose
 */
export function namedShapes<Shape>(given: unknown, declaration: ShapesDeclaration<Shape>): ReadonlyMap<string, Shape> {
  const { name, option, make } = declaration;
  const kinds = `a ${option}Shape()`;
  if (isShape(given)) return new Map([['default', make(given, option)]]);
  if (!isRecord(given) || isEmpty(given)) {
    throw wrongOption(name, option, `${kinds}, a Type.Object(), or an object of these by operation`, given);
  }
  checkNames(Object.keys(given), declaration);
  const made = new Map<unknown, Shape>();
  return new Map(
    Object.entries(given).map(([key, shape]) => {
      if (!isShape(shape)) throw wrongOption(name, `${option}.${key}`, `${kinds} or a Type.Object()`, shape);
      return [key, getOrMake(made, shape, () => make(shape, `${option}.${key}`))] as const;
    }),
  );
}

/** Reports whether a value is a shape: made by a function, or a schema written by hand. */
export function isShape(value: unknown): value is OneShape {
  if (!isRecord(value)) return false;
  return typeof value['bind'] === 'function' || (value['type'] === 'object' && isRecord(value['properties']));
}

function checkNames(
  names: readonly string[],
  { name, option, operations, isChosen }: Omit<ShapesDeclaration<unknown>, 'make'>,
): void {
  const missing = names.includes('default') ? [] : operations.filter((operation) => !names.includes(operation));
  if (missing.length > 0) {
    throw new ImproperlyConfigured(
      `${name}: option "${option}" needs a shape of the name "default", or one for ${missing.join(', ')}`,
    );
  }
  for (const key of names) {
    if (key === 'default' || operations.includes(key)) continue;
    if (isOutputOperation(key)) {
      throw new ImproperlyConfigured(
        `${name}: option "${option}" has a shape for "${key}", which the view does not offer`,
      );
    }
    const meant = nearest(key, ['default', ...OUTPUT_OPERATIONS]);
    if (isChosen && meant === undefined) continue;
    const hint = meant === undefined ? `only ${option}ShapeFor() could choose it` : `did you mean "${meant}"?`;
    throw new ImproperlyConfigured(
      `${name}: option "${option}" names a shape "${key}", which no operation has; ${hint}`,
    );
  }
}

/** The declared shapes of a view, and how requests' shapes are made from them. */
interface ShapeChoices<Operation extends string, Declared, Made> {
  readonly shapes: ReadonlyMap<string, Declared>;
  readonly operations: readonly Operation[];
  readonly hook: ShapeHook<Operation>;
  readonly make: (name: string, shape: Declared) => Made;
  /** Reports whether a view may choose a shape for an operation. Default: always. */
  readonly fits?: (made: Made, operation: Operation) => boolean;
}

/** Decides which shape a request gets: the default of its operation, or the choice of the view's hook. */
export class ShapeChoice<Operation extends string, Declared, Made> {
  /** The defaults of the operations. */
  readonly usual: Readonly<Record<Operation, Made>>;
  /** All shapes, without duplicates. */
  readonly all: readonly Made[];
  readonly #hook: ShapeHook<Operation>;
  /** The shapes that the hook may choose, by name. */
  readonly #others: Readonly<Record<Operation, ReadonlyMap<string, Made>>>;

  constructor({ shapes, operations, hook, make, fits = () => true }: ShapeChoices<Operation, Declared, Made>) {
    this.#hook = hook;
    const made = new Map<Declared, Made>();
    const makeOnce = (key: string, name = key): Made => {
      const shape = shapes.get(key)!;
      return getOrMake(made, shape, () => make(name, shape));
    };
    // Make the usual shape first, so that an identical shape shares its name.
    const usual = ['default', 'retrieve', ...shapes.keys()].find((name) => shapes.has(name))!;
    makeOnce(usual, 'default');
    this.usual = byName(operations, (operation) => makeOnce(shapes.has(operation) ? operation : usual));
    const names = [...shapes.keys()].filter((name) => name !== 'default' && !isOutputOperation(name));
    const others = names.map((name) => [name, makeOnce(name)] as const);
    this.#others = byName(operations, (operation) => new Map(others.filter(([, each]) => fits(each, operation))));
    this.all = [...made.values()];
  }

  /** Lists the shapes that requests for an operation may get, its default first. */
  choicesFor(operation: Operation): readonly Made[] {
    return [...new Set([this.usual[operation], ...this.#others[operation].values()])];
  }

  /** Asks the view for the shape of a request and an operation. */
  choose(request: FastifyRequest, operation: Operation): Made {
    const { owner, choose } = this.#hook;
    const name = choose && requireSync(choose(request, operation), () => owner);
    if (name === undefined) return this.usual[operation];
    const chosen = this.#others[operation].get(name);
    if (chosen !== undefined) return chosen;
    const names = [...this.#others[operation].keys()].join(', ') || 'nothing else';
    throw new ImproperlyConfigured(
      `${owner} must return undefined or one of ${names} for ${operation}, got ${describe(name)}`,
    );
  }
}
