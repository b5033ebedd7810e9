import { byName, type Operation, OPERATIONS, type WriteOperation, WRITES } from './operation.ts';

/** The hook of a write, by its operation. */
const PERFORMS = { create: 'performCreate', update: 'performUpdate', destroy: 'performDestroy' } as const;

/** The methods of a view of an entity whose overrides decide how records are read and written. */
type Hook =
  | Operation
  | `${WriteOperation}Many`
  | (typeof PERFORMS)[WriteOperation]
  | 'getQueryset'
  | 'getObject'
  | 'checkObjectPermissions'
  | 'represent'
  | 'readShapeFor'
  | 'writeShapeFor';

/**
 * Tells which methods a view overrides, and what follows from it. Made once, when the view is registered. Nothing else compares a view
 * with the library's class.
 */
export class Customized {
  /** The operations that the view handles itself, perhaps by going on with `super`. */
  readonly handles: Readonly<Record<Operation, boolean>>;
  /** The operations on several records that it handles itself. */
  readonly handlesBulk: Readonly<Record<WriteOperation, boolean>>;
  /** The operations whose hook (`performCreate`, …) has to be called for each record. */
  readonly performs: Readonly<Record<WriteOperation, boolean>>;
  /** True if `getQueryset` says which records there are. */
  readonly selectsRecords: boolean;
  /** True if `getObject` finds the record of a path. */
  readonly findsRecord: boolean;
  /** True if a hook has to see the record of a path as an entity. */
  readonly seesRecord: boolean;
  /** True if `retrieve` has a route, and the view decides there if it shows a record. */
  readonly retrieves: boolean;
  /** True if `represent` makes the answers of entities. */
  readonly represents: boolean;
  /** True if `readShapeFor` chooses the shapes of answers. */
  readonly choosesReadShape: boolean;
  /** True if `writeShapeFor` chooses the shapes of bodies. */
  readonly choosesWriteShape: boolean;
  readonly #view: object;
  readonly #library: object;

  /**
   * @param library the prototype of the class that overrides nothing
   * @param offered the operations that have a route
   */
  constructor(view: object, library: object, offered: readonly Operation[]) {
    this.#view = view;
    this.#library = library;
    this.handles = byName(OPERATIONS, (operation) => this.#overrides(operation));
    this.handlesBulk = byName(WRITES, (operation) => this.#overrides(`${operation}Many`));
    this.performs = byName(WRITES, (operation) => this.#overrides(PERFORMS[operation]));
    this.selectsRecords = this.#overrides('getQueryset');
    this.findsRecord = this.#overrides('getObject');
    this.seesRecord = this.findsRecord || this.#overrides('checkObjectPermissions');
    this.retrieves = this.handles.retrieve && offered.includes('retrieve');
    this.represents = this.#overrides('represent');
    this.choosesReadShape = this.#overrides('readShapeFor');
    this.choosesWriteShape = this.#overrides('writeShapeFor');
  }

  /** True if the view decides by code of its own which records it shows. */
  get hidesRecords(): boolean {
    return this.seesRecord || this.retrieves || this.selectsRecords;
  }

  /** The method by which the view finds or refuses one record alone, so that it cannot be asked for several; undefined if it has none. */
  get recordFinder(): string | undefined {
    if (this.findsRecord) return 'getObject';
    return this.retrieves ? 'retrieve' : undefined;
  }

  /** The method that a request about several records would pass by, so that the one for several has to be overridden as well. */
  bypassedByBulk(operation: WriteOperation): string | undefined {
    if (this.handlesBulk[operation]) return undefined;
    if (this.handles[operation]) return operation;
    return this.findsRecord && operation !== 'create' ? 'getObject' : undefined;
  }

  /** Lists the overrides that have to see the entity that an operation writes. */
  hooksOf(operation: WriteOperation): readonly string[] {
    const ofRecord = ['getObject', 'checkObjectPermissions'] as const;
    const hooks: readonly Hook[] = [
      PERFORMS[operation],
      ...(operation === 'destroy' ? [] : (['represent'] as const)),
      ...(operation === 'create' ? [] : ofRecord),
    ];
    return hooks.filter((hook) => this.#overrides(hook));
  }

  /** Tells if a request comes by the library's own operation: the view does not override it, or each override goes on with `super`. */
  reaches(operation: Operation): boolean {
    return this.#reaches(operation);
  }

  /** Tells the same of an operation on several records. */
  reachesSeveral(operation: WriteOperation): boolean {
    return this.#reaches(`${operation}Many`);
  }

  #overrides(hook: Hook): boolean {
    return memberOf(this.#view, hook) !== memberOf(this.#library, hook);
  }

  /**
   * The only place that reads the text of a function: nothing else tells, before it is called, if it goes on with `super`. An ORM without
   * transactions has to know at the start.
   */
  #reaches(method: Hook): boolean {
    const goesOn = new RegExp(`\\bsuper\\s*(?:\\.\\s*${method}\\b|\\[\\s*['"]${method}['"])`);
    for (let level = this.#view; level !== this.#library; level = Object.getPrototypeOf(level) as object) {
      const own = Object.getOwnPropertyDescriptor(level, method)?.value as unknown;
      if (typeof own === 'function' && !goesOn.test(Function.prototype.toString.call(own))) return false;
    }
    return true;
  }
}

function memberOf(owner: object, hook: Hook): unknown {
  return (owner as Readonly<Record<Hook, unknown>>)[hook];
}
