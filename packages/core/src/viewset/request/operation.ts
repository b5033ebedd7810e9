import { ImproperlyConfigured } from '../../errors.ts';

/** The five operations. `update` is PUT and PATCH. */
export const OPERATIONS = ['list', 'create', 'retrieve', 'update', 'destroy'] as const;
/** The name of an operation. */
export type Operation = (typeof OPERATIONS)[number];

/** The methods that update a record: PUT replaces it, PATCH changes parts of it. */
export const UPDATE_METHODS = ['PUT', 'PATCH'] as const;
/** The name of a method that updates a record. */
export type UpdateMethod = (typeof UPDATE_METHODS)[number];

/** The operations that write. They also exist in bulk. */
export const WRITES = ['create', 'update', 'destroy'] as const;
/** The name of an operation that writes. */
export type WriteOperation = (typeof WRITES)[number];

/** @throws ImproperlyConfigured if the view does not offer the operation that a declaration needs */
export function requireOperation(
  declaration: string,
  operation: Operation,
  offered: readonly Operation[],
  hint = '',
): void {
  if (offered.includes(operation)) return;
  throw new ImproperlyConfigured(
    `${declaration} needs the operation "${operation}", which the view does not offer${hint}`,
  );
}

/** Makes an object with a value for each name. */
export function byName<Name extends string, Value>(
  names: readonly Name[],
  make: (name: Name) => Value,
): Readonly<Record<Name, Value>> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, Value>;
}

/**
 * Returns the operations of a view of an entity: its option, or every operation that its shapes allow. A singleton
 * creates and deletes its record only if its option says so. Most singletons are created by other means, such as a
 * registration.
 */
export function operationsOf(options: {
  readonly operations?: readonly Operation[] | undefined;
  readonly write?: unknown;
  readonly singleton?: unknown;
}): readonly Operation[] {
  const { operations, write, singleton } = options;
  if (operations !== undefined) return operations;
  if (singleton !== undefined) return write === undefined ? ['retrieve'] : ['retrieve', 'update'];
  return write === undefined ? ['list', 'retrieve'] : OPERATIONS;
}
