import type { FilterParameters, ListOf, ListParameters, ManyOf } from './list.ts';

/**
 * The routes of an API by the paths of its views, in plain types. Takes a router that chains `register()`, or an object
 * from `describeApi()`.
 *
 * @example
 * export const shopRouter = () => new Router({ prefix: 'api' }).register('products', ProductViewSet);
 * export type Api = ApiOf<ReturnType<typeof shopRouter>>;
 */
export type ApiOf<Described> = Described extends { readonly '~views'?: infer Views }
  ? { readonly [Path in keyof Views as Trimmed<Path & string>]: RoutesOf<Views[Path]> }
  : Described;

/** One route: its arguments and its responses. */
export interface Route {
  /** True: one record, addressed by its key. `alone`: the record of a singleton, without a key. */
  readonly detail: boolean | 'alone';
  readonly query: object;
  readonly body: unknown;
  readonly data: unknown;
  /** Bodies of unusual errors, by status; unknown means the usual body. */
  readonly errors: object;
}

/** Routers ignore slashes at the ends of a path. */
type Trimmed<Path extends string> = Path extends `/${infer Rest}`
  ? Trimmed<Rest>
  : Path extends `${infer Rest}/`
    ? Trimmed<Rest>
    : Path;

type RoutesOf<View> =
  View extends Nested<infer Relation>
    ? BelowParent<AllRoutes<View, WithoutInput<DeclaredBy<View>, Relation>>>
    : AllRoutes<View, DeclaredBy<View>>;

/** A nested view: its path contains the record that a relation of its own records points to. */
interface Nested<Relation> {
  readonly '~parent': Relation;
}

/** Removes the relation from bodies, because the path already gives it. */
type WithoutInput<D, Relation> = D extends Declarations
  ? Omit<D, 'input' | 'update' | 'change'> & {
      readonly input: Without<D['input'], Relation>;
      readonly update: Without<D['update'], Relation>;
      readonly change: Without<D['change'], Relation>;
    }
  : D;

/** Distributes over unions, because each kind of body has its own fields. */
type Without<Body, Name> = Body extends unknown ? Omit<Body, Name & PropertyKey> : never;

/** Adds 404 to every route, because the parent record may be missing. */
type BelowParent<Routes> = {
  readonly [Name in keyof Routes]: Routes[Name] extends Route
    ? Routes[Name] & MayMiss
    : { readonly [Method in keyof Routes[Name]]: Routes[Name][Method] & MayMiss };
};

interface MayMiss {
  readonly errors: { readonly 404: unknown };
}

type AllRoutes<View, D extends Declarations> = OperationRoutes<View, D> & ActionRoutes<Instance<View>, D>;

/**
 * Looks the property up instead of inferring it. To infer it, the compiler compares the whole class, which was a fifth
 * of a client's compile time.
 */
type DeclaredBy<View> = Enveloped<
  Extract<View['~declared' & keyof View], Declarations>,
  View['~envelope' & keyof View]
>;

/** The declarations, with the router's envelope unless the view has its own. */
type Enveloped<D extends Declarations, Default> = [Default] extends [never]
  ? D
  : [D['envelope']] extends [never]
    ? Omit<D, 'envelope'> & { readonly envelope: Default }
    : D;

type OperationRoutes<View, D extends Declarations> = [D] extends [never]
  ? PlainRoutes<Instance<View>>
  : ModelRoutes<Instance<View>, D>;

type Instance<View> = View extends new (...args: never) => infer Made ? Made : never;

/** The declarations that a model view's class carries for clients. */
export interface Declarations {
  /** The records that operations return. */
  readonly outputs: Readonly<Record<'list' | 'retrieve' | 'create' | 'update', unknown>>;
  /** The fields that `expand` adds. */
  readonly expandable: object;
  /** True if clients may use `fields` to leave fields out. */
  readonly fields: boolean;
  readonly input: unknown;
  readonly update: unknown;
  readonly change: unknown;
  readonly operations: string;
  /** True if the request determines the record. */
  readonly singleton: boolean;
  /** The methods of `update`: PUT, PATCH. */
  readonly updateMethods: string;
  /** The names of the members that wrap records; never if records are not wrapped. */
  readonly envelope: unknown;
  /** The operations that accept several records at once. */
  readonly bulk: string;
  /** The part of a record that identifies it in bulk operations. */
  readonly key: object;
  readonly search: string;
  readonly filterFields: object;
  readonly filterValues: object;
  readonly jsonLogicFields: string;
  readonly sort: string;
  readonly filters: unknown;
  readonly pagination: unknown;
  readonly count: string;
  /** The formats in which a list can be exported. */
  readonly exports: string;
  /** The values that a summary can return, by parameter name; never without a summary. */
  readonly summary: unknown;
  /** True if the view lists and restores deleted records. */
  readonly restores: boolean;
  /** The parts of the history that clients can use; never if the view keeps none. */
  readonly history: unknown;
}

type None = Record<never, never>;

interface Of<Detail extends Route['detail'], Body, Data> {
  readonly detail: Detail;
  readonly query: None;
  readonly body: Body;
  readonly data: Data;
  readonly errors: None;
}

/** A route that writes several records. */
interface OfMany<Body, Data, Errors> {
  readonly detail: false;
  readonly query: None;
  readonly body: Body;
  readonly data: Data;
  readonly errors: Errors;
}

/** Wraps data in the member that an envelope names; without one, the data itself. */
type In<Member, Data> = [Member] extends [never] ? Data : { readonly [Name in Member & string]: Data };

/** The envelope's name for one record; never if it has none. */
type OneOf<D extends Declarations> = [D['envelope']] extends [never]
  ? never
  : D['envelope'] extends { readonly one: infer One extends string }
    ? One
    : never;

/** How an operation addresses one record. */
type DetailOf<D> = D extends { readonly singleton: true } ? 'alone' : true;

/** All operations, including bulk operations. `update` appears twice: PUT is `replace`, PATCH is `update`. */
interface Operations<D extends Declarations> {
  readonly list: ListOf<D> & Selecting<D, D['outputs']['list'], ListOf<D>['resultsName']>;
  readonly retrieve: RetrieveOf<D> & SelectingOne<D, 'retrieve'>;
  readonly create: Of<false, In<OneOf<D>, D['input']>, Answered<D, 'create'>> & SelectingOne<D, 'create'>;
  readonly replace: Of<DetailOf<D>, In<OneOf<D>, D['update']>, Answered<D, 'update'>> & SelectingOne<D, 'update'>;
  readonly update: Of<DetailOf<D>, In<OneOf<D>, D['change']>, Answered<D, 'update'>> & SelectingOne<D, 'update'>;
  readonly destroy: Of<DetailOf<D>, undefined, undefined>;
  readonly createMany: OfMany<In<ManyOf<D>, readonly D['input'][]>, AnsweredMany<D, 'create'>, None> &
    Selecting<D, D['outputs']['create'], ManyOf<D>>;
  readonly updateMany: OfMany<
    In<ManyOf<D>, readonly (D['key'] & D['change'])[]>,
    AnsweredMany<D, 'update'>,
    MayMiss['errors']
  > &
    Selecting<D, D['outputs']['update'], ManyOf<D>>;
  // Written out, because declaration files of `describeApi` cannot name a type that is not exported.
  readonly destroyMany: OfMany<readonly (string | number | bigint)[], undefined, MayMiss['errors']>;
}

interface RetrieveOf<D extends Declarations> {
  readonly detail: DetailOf<D>;
  readonly query: D['history'] extends { readonly at: true } ? { readonly at?: string | Date | undefined } : None;
  readonly body: undefined;
  readonly data: Answered<D, 'retrieve'>;
  readonly errors: None;
}

type Answered<D extends Declarations, Name extends keyof D['outputs']> = In<OneOf<D>, D['outputs'][Name]>;
type AnsweredMany<D extends Declarations, Name extends keyof D['outputs']> = In<ManyOf<D>, D['outputs'][Name][]>;
type SelectingOne<D extends Declarations, Name extends keyof D['outputs']> = Selecting<D, D['outputs'][Name], OneOf<D>>;

/** The fields that clients may choose in a route's records; nothing if they may not. */
type Selecting<D extends Declarations, Output, Member> = [keyof D['expandable'] | (D['fields'] & true)] extends [never]
  ? unknown
  : {
      readonly selects: {
        readonly record: Output;
        /** The member of the answer that holds the records; never if they are not wrapped. */
        readonly member: Member;
        readonly expandable: D['expandable'];
        readonly fields: D['fields'] extends true ? keyof Output | keyof D['expandable'] : never;
      };
    };

/**
 * The operations of a model view. Maps the names of the view's methods, so that an editor can go from a call to the
 * method.
 */
type ModelRoutes<View, D extends Declarations> = OperationsAt<View, OperationName<D> & keyof View, D> &
  ([D['summary']] extends [never] ? unknown : { readonly summary: SummaryOf<D> }) &
  (D['restores'] extends true ? Restoring<D> : unknown) &
  ([D['history']] extends [never] ? unknown : D['history'] extends false ? unknown : Historic<D>) &
  ('update' extends D['operations']
    ? 'PUT' extends D['updateMethods']
      ? Pick<Operations<D>, 'replace'>
      : unknown
    : unknown);

/** The actions of a view that shows deleted records. */
type Restoring<D extends Declarations> = {
  readonly restore: { readonly post: Of<DetailOf<D>, undefined, Answered<D, 'retrieve'>> };
} & ('list' extends D['operations'] ? { readonly deleted: { readonly get: DeletedOf<D> } } : unknown);

interface DeletedOf<D extends Declarations> {
  readonly detail: false;
  readonly query: OneByOne<ListParameters<D>>;
  readonly body: undefined;
  readonly data: ListOf<D>['data'];
  readonly errors: None;
}

/** The actions of a view that keeps history. */
type Historic<D extends Declarations> = {
  readonly history: { readonly get: HistoryOf<D> };
} & (D['history'] extends { readonly revert: true }
  ? { readonly revert: { readonly post: Of<DetailOf<D>, { readonly entry: string }, Answered<D, 'retrieve'>> } }
  : unknown);

interface HistoryOf<D extends Declarations> {
  readonly detail: DetailOf<D>;
  readonly query: { readonly page?: number | undefined; readonly page_size?: number | undefined };
  readonly body: undefined;
  readonly data: {
    readonly count: number;
    readonly next: boolean;
    readonly previous: boolean;
    readonly results: HistoryEntry<D['outputs']['retrieve']>[];
  };
  readonly errors: None;
}

/** One write of a record: its fields with stored columns, and which of them changed. */
interface HistoryEntry<Output> {
  readonly id: string;
  readonly kind: 'created' | 'updated' | 'deleted';
  /** The operation or the action that wrote. */
  readonly action: string;
  readonly written_at: string;
  readonly user: string | null;
  readonly changes: { readonly [Name in keyof Output]?: { readonly from: Output[Name]; readonly to: Output[Name] } };
  readonly record: Partial<Output>;
}

/** The summary of a view. Its answer contains the groups and values that the client asks for. */
interface SummaryOf<D extends Declarations> {
  readonly detail: false;
  readonly query: OneByOne<FilterParameters<D>>;
  readonly body: undefined;
  readonly data: unknown;
  readonly errors: None;
  readonly summary: D['summary'];
}

type OperationName<D extends Declarations> =
  | Extract<D['operations'], 'list' | 'retrieve' | 'create' | 'destroy'>
  | ('PATCH' extends D['updateMethods'] ? Extract<D['operations'], 'update'> : never)
  | `${Extract<D['bulk'] & D['operations'], BulkName<D>>}Many`;

type BulkName<D extends Declarations> = 'create' | 'destroy' | ('PATCH' extends D['updateMethods'] ? 'update' : never);

type OperationsAt<View, Names extends keyof View, D extends Declarations> = {
  readonly [Name in Names]: Operations<D>[Name & keyof Operations<D>];
};

/** The operations that a view without an entity defines as methods. */
type PlainRoutes<View> = PlainRoutesAt<View, PlainName<View>> &
  ('update' extends PlainName<View>
    ? { readonly replace: PlainRoute<'update', View['update' & keyof View]> }
    : unknown);

type PlainRoutesAt<View, Names extends keyof View> = {
  readonly [Name in Names]-?: PlainRoute<Name & keyof PlainOperations, View[Name]>;
};

type PlainName<View> = {
  [Name in keyof PlainOperations & keyof View]: undefined extends View[Name] ? never : Name;
}[keyof PlainOperations & keyof View];

/** Per operation: is it about one record, and does it take a body? */
interface PlainOperations {
  readonly list: [detail: false, body: undefined];
  readonly retrieve: [detail: true, body: undefined];
  readonly create: [detail: false, body: unknown];
  readonly update: [detail: true, body: unknown];
  readonly destroy: [detail: true, body: undefined];
}

type PlainRoute<Name extends keyof PlainOperations, Method> = Of<
  PlainOperations[Name][0],
  PlainOperations[Name][1],
  Method extends (...args: never) => infer Answer ? Json<Awaited<Answer>> : unknown
>;

/** The type of a value after a round trip through JSON. */
type Json<T> = T extends { toJSON(): infer Text }
  ? Text
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends (...args: never) => unknown
      ? never
      : T extends readonly (infer Item)[]
        ? Json<Item>[]
        : T extends object
          ? { [Name in keyof T]: Json<T[Name]> }
          : T;

/** The declarations that an action's property carries for clients. */
interface ActionDeclarations {
  readonly methods: string;
  readonly detail: boolean;
  readonly urlPath: string | undefined;
  readonly listParameters: boolean | undefined;
  readonly body: unknown;
  readonly query: unknown;
  readonly answers: unknown;
  /** Set if the action returns records of its view. */
  readonly records: 'record' | 'page' | undefined;
}

/** Names that the client uses itself. An action with one of them is called by its path, such as `/each`. */
type Taken = 'each' | 'exportAs' | 'replace' | 'key' | 'createMany' | 'updateMany' | 'destroyMany';

/** The actions by property name if possible, so that an editor can go from a call to the action. */
type ActionRoutes<View, D> = ActionsAt<View, ActionOf<View>, D> & {
  readonly [
    Name in RenamedAction<View> as ActionName<Name & string, DeclaredAction<View[Name]>['urlPath']>
  ]: ActionMethods<DeclaredAction<View[Name]>, D>;
};

type ActionsAt<View, Names extends keyof View, D> = {
  readonly [Name in Names]: ActionMethods<DeclaredAction<View[Name]>, D>;
};

type ActionMethods<A extends ActionDeclarations, D> = { readonly [Method in A['methods']]: ActionRoute<A, Method, D> };

type DeclaredAction<Property> = Property extends { readonly '~declared'?: infer A extends ActionDeclarations }
  ? A
  : never;

/** The actions that keep their property name in the client. */
type ActionOf<View> = {
  [Name in keyof View]: View[Name] extends { readonly '~declared'?: infer A extends ActionDeclarations }
    ? Name & ActionName<Name & string, A['urlPath']>
    : never;
}[keyof View];

type RenamedAction<View> = {
  [Name in keyof View]: View[Name] extends { readonly '~declared'?: ActionDeclarations }
    ? Name extends ActionOf<View>
      ? never
      : Name
    : never;
}[keyof View];

/** An action with the path `/`, the view's own path, gets no name. */
type ActionName<Name extends string, UrlPath> = UrlPath extends string
  ? string extends UrlPath
    ? never
    : UrlPath extends '/'
      ? never
      : `/${UrlPath}`
  : Name extends Taken
    ? `/${Name}`
    : Name;

interface ActionRoute<A extends ActionDeclarations, Method, D> {
  readonly detail: A['detail'] extends true ? DetailOf<D> : false;
  readonly query: (A['query'] extends object ? A['query'] : None) &
    (TakesListParameters<A, Method> extends true
      ? D extends Declarations
        ? OneByOne<ListParameters<D>>
        : None
      : None);
  readonly body: Method extends 'get' ? undefined : A['body'] extends undefined ? unknown : A['body'];
  readonly data: [A['records'], D] extends ['page' | 'record', Declarations]
    ? RecordsOf<Extract<D, Declarations>>[A['records'] & ('page' | 'record')]
    : unknown extends A['answers']
      ? unknown
      : A['answers'][keyof A['answers'] & Success<keyof A['answers']>];
  readonly errors: unknown extends A['answers'] ? None : Omit<A['answers'], Success<keyof A['answers']>>;
}

interface RecordsOf<D extends Declarations> {
  readonly page: ListOf<D>['data'];
  readonly record: Answered<D, 'retrieve'>;
}

type Success<Status> = Status extends number ? (`${Status}` extends `2${string}` ? Status : never) : never;

type TakesListParameters<A extends ActionDeclarations, Method> = A['listParameters'] extends boolean
  ? A['listParameters']
  : Method extends 'get'
    ? A['detail'] extends true
      ? false
      : true
    : false;

/**
 * The parameters of a list, as an action takes them. An action repeats a parameter for each item of a list, so these
 * take one value, and a list only as a string.
 */
type OneByOne<Parameters> = {
  readonly [Name in keyof Parameters]: [Exclude<Parameters[Name], readonly unknown[] | undefined>] extends [never]
    ? string
    : Exclude<Parameters[Name], readonly unknown[]>;
};
