import {
  byName,
  isOutputOperation,
  OPERATION,
  type Operation,
  OPERATIONS,
  type WriteOperation,
  WRITES,
} from './operation.ts';

/** The methods of a view of an entity whose overrides decide how records are read and written. */
type Hook =
  | Operation
  | `${WriteOperation}Many`
  | (typeof OPERATION)[WriteOperation]['write']['hook']
  | 'getQueryset'
  | 'getObject'
  | 'checkObjectPermissions'
  | 'paginate'
  | 'rows'
  | 'represent'
  | 'readShapeFor'
  | 'writeShapeFor';

/**
 * Knows which methods a view overrides, and what follows from it. Made once, when the view is registered. Nothing else
 * compares a view with the library's class.
 */
export class ViewOverrides {
  /** The operations that the view overrides, even if the override calls `super`. */
  readonly handles: Readonly<Record<Operation, boolean>>;
  /** The operations on several records that the view overrides, such as `createMany`. */
  readonly handlesSeveral: Readonly<Record<WriteOperation, boolean>>;
  /** The operations whose overridden hook (`performCreate`, …) must run for each record. */
  readonly performs: Readonly<Record<WriteOperation, boolean>>;
  /** True if an overridden `getQueryset` selects the records. */
  readonly selectsRecords: boolean;
  /** True if an overridden `getObject` finds the record of a path. */
  readonly findsRecord: boolean;
  /** True if a hook needs the record of a path as an entity. */
  readonly seesRecord: boolean;
  /** True if `retrieve` has a route and is overridden, so that it decides whether a record is shown. */
  readonly retrieves: boolean;
  /** True if an overridden `represent` makes the records from entities. */
  readonly represents: boolean;
  /** True if an overridden `readShapeFor` chooses the shapes of responses. */
  readonly choosesReadShape: boolean;
  /** True if an overridden `writeShapeFor` chooses the shapes of bodies. */
  readonly choosesWriteShape: boolean;
  readonly #view: object;
  readonly #library: object;

  /**
   * @param library the prototype of the library's class
   * @param offered the operations that have a route
   */
  constructor(view: object, library: object, offered: readonly Operation[]) {
    this.#view = view;
    this.#library = library;
    this.handles = byName(OPERATIONS, (operation) => this.#overrides(operation));
    this.handlesSeveral = byName(WRITES, (operation) => this.#overrides(`${operation}Many`));
    this.performs = byName(WRITES, (operation) => this.#overrides(OPERATION[operation].write.hook));
    this.selectsRecords = this.#overrides('getQueryset');
    this.findsRecord = this.#overrides('getObject');
    this.seesRecord = this.findsRecord || this.#overrides('checkObjectPermissions');
    this.retrieves = this.handles.retrieve && offered.includes('retrieve');
    this.represents = this.#overrides('represent');
    this.choosesReadShape = this.#overrides('readShapeFor');
    this.choosesWriteShape = this.#overrides('writeShapeFor');
  }

  /** True if an override decides which records the view shows. */
  get hidesRecords(): boolean {
    return this.seesRecord || this.retrieves || this.selectsRecords;
  }

  /**
   * The overridden method that finds or refuses a single record, so that several records cannot be looked up at once.
   * Undefined if there is none.
   */
  get recordFinder(): string | undefined {
    if (this.findsRecord) return 'getObject';
    return this.retrieves ? 'retrieve' : undefined;
  }

  /**
   * Returns the overridden method that a request about several records would bypass, so that `createMany` and its like
   * must be overridden too.
   * Undefined if there is none.
   */
  bypassedBySeveral(operation: WriteOperation): string | undefined {
    if (this.handlesSeveral[operation]) return undefined;
    if (this.handles[operation]) return operation;
    return this.findsRecord && OPERATION[operation].detail ? 'getObject' : undefined;
  }

  /**
   * The overridden method that makes the view's lists, even if it calls `super`; undefined if the view overrides none.
   *
   * @param isPaged false if `list` sends all records
   */
  listMaker(isPaged: boolean): string | undefined {
    const hooks: readonly Hook[] = ['list', isPaged ? 'paginate' : 'rows'];
    return hooks.find((hook) => this.#overrides(hook));
  }

  /** Lists the overrides that need the entity of a write operation. */
  hooksOf(operation: WriteOperation): readonly string[] {
    const ofRecord = ['getObject', 'checkObjectPermissions'] as const;
    const hooks: readonly Hook[] = [
      OPERATION[operation].write.hook,
      ...(isOutputOperation(operation) ? (['represent'] as const) : []),
      ...(OPERATION[operation].detail ? ofRecord : []),
    ];
    return hooks.filter((hook) => this.#overrides(hook));
  }

  /**
   * Reports whether the library's own operation runs: the view does not override it, or every override calls `super`.
   */
  reaches(operation: Operation): boolean {
    return this.#reaches(operation);
  }

  /** Reports the same for an operation on several records. */
  reachesSeveral(operation: WriteOperation): boolean {
    return this.#reaches(`${operation}Many`);
  }

  #overrides(hook: Hook): boolean {
    return memberOf(this.#view, hook) !== memberOf(this.#library, hook);
  }

  /**
   * Reads the source text of a function, as the checks of lost actions and of operators do. An ORM without transactions must know at startup whether
   * an override calls `super`. There is no other way to know it before the call.
   */
  #reaches(method: Hook): boolean {
    const goesOn = new RegExp(`\\bsuper\\s*(?:\\.\\s*${method}\\b|\\[\\s*['"]${method}['"])`);
    for (let level = this.#view; level !== this.#library; level = Object.getPrototypeOf(level) as object) {
      const override = Object.getOwnPropertyDescriptor(level, method)?.value as unknown;
      if (typeof override === 'function' && !goesOn.test(Function.prototype.toString.call(override))) return false;
    }
    return true;
  }
}

function memberOf(owner: object, hook: Hook): unknown {
  return (owner as Readonly<Record<Hook, unknown>>)[hook];
}
