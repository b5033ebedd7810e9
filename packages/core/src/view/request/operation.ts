import { ImproperlyConfigured } from '../../errors/errors.ts';

/**
 * How the handler's result shows that the parent exists, so that no extra query is needed. The handler finds a record
 * below the parent (`record`), returns its records (`list`), or finds the parent itself (`parent`).
 */
export type ParentProof = 'record' | 'list' | 'parent' | 'none';

/** What an operation is. */
interface OperationRow {
  /** The methods of its routes. `list` has QUERY too, if the view accepts it. */
  readonly methods: readonly string[];
  /** True if the path names one record. */
  readonly detail: boolean;
  /** True if the body is a record, or parts of one. */
  readonly takesRecord: boolean;
  /** What the response shows. */
  readonly returns: 'list' | 'record' | 'nothing';
  /** The status of success. */
  readonly status: number;
  /** How the built-in operation proves that the parent exists. */
  readonly proof: ParentProof;
  /** Only of operations that write. */
  readonly write?: {
    /** The hook that writes one record. */
    readonly hook: string;
    /** The kind of the write, for events, history and live lists. */
    readonly kind: string;
  };
}

/** The five operations. All that differs by operation and is no behaviour of its own is read from here. */
export const OPERATION = {
  list: {
    methods: ['GET', 'QUERY'],
    detail: false,
    takesRecord: false,
    returns: 'list',
    status: 200,
    proof: 'list',
  },
  create: {
    methods: ['POST'],
    detail: false,
    takesRecord: true,
    returns: 'record',
    status: 201,
    // It finds the parent of the new record.
    proof: 'parent',
    write: { hook: 'performCreate', kind: 'created' },
  },
  retrieve: {
    methods: ['GET'],
    detail: true,
    takesRecord: false,
    returns: 'record',
    status: 200,
    proof: 'record',
  },
  update: {
    // PUT replaces a record, PATCH changes parts of it.
    methods: ['PUT', 'PATCH'],
    detail: true,
    takesRecord: true,
    returns: 'record',
    status: 200,
    proof: 'record',
    write: { hook: 'performUpdate', kind: 'updated' },
  },
  destroy: {
    methods: ['DELETE'],
    detail: true,
    takesRecord: false,
    returns: 'nothing',
    status: 204,
    proof: 'record',
    write: { hook: 'performDestroy', kind: 'deleted' },
  },
} as const satisfies Readonly<Record<string, OperationRow>>;

type Rows = typeof OPERATION;
/** The operations whose row matches. `keyof` it is shown as the names, and not as the alias, in messages of the compiler. */
type Matching<Row> = { [Name in keyof Rows as Rows[Name] extends Row ? Name : never]: Rows[Name] };

/** The name of an operation. */
export type Operation = keyof Rows;
/** The name of an operation that writes. `createMany` and its like write several records. */
export type WriteOperation = keyof Matching<{ readonly write: object }>;
/** The name of an operation that returns records. */
export type OutputOperation = keyof Matching<{ readonly returns: 'list' | 'record' }>;
/** The name of an operation that accepts a record. */
export type InputOperation = keyof Matching<{ readonly takesRecord: true }>;
/** The name of a method that updates a record. */
export type UpdateMethod = Rows['update']['methods'][number];
/** The kind of a write. */
export type WriteKind = Rows[WriteOperation]['write']['kind'];

/** The names of the operations, of those that write, return records, and accept a record. */
export const OPERATIONS = Object.keys(OPERATION) as readonly Operation[];
export const WRITES = OPERATIONS.filter(isWrite);
export const OUTPUT_OPERATIONS = OPERATIONS.filter(isOutputOperation);
export const INPUT_OPERATIONS = OPERATIONS.filter(
  (operation): operation is InputOperation => OPERATION[operation].takesRecord,
);
export const UPDATE_METHODS = OPERATION.update.methods;

/** The row of an action's name, if it is an operation. Operations on one record and on several share a name. */
export function rowOf(action: string): OperationRow | undefined {
  return Object.hasOwn(OPERATION, action) ? OPERATION[action as Operation] : undefined;
}

/** Reports whether an operation writes. */
export function isWrite(operation: Operation): operation is WriteOperation {
  return 'write' in OPERATION[operation];
}

/** Reports whether an action is an operation that returns records. */
export function isOutputOperation(action: string): action is OutputOperation {
  const row = rowOf(action);
  return row !== undefined && row.returns !== 'nothing';
}

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
