import type { ApiError, ErrorBody } from './api-error.ts';
import type { ApiOf, Route } from './api.ts';
import type { CallOptions, WriteRecordOptions } from './options.ts';
import type { Key } from './url.ts';

/** The calls of an API, by the paths of its views: `api.products`, `api['shops/products']`, `api.authors(7).books`. */
export type Client<Api, Errors = ErrorBody> = Api extends RouterWithoutViews
  ? 'the type of this router has no views: chain its register() calls'
  : ClientOf<ApiOf<Api>, Errors>;

/** A router that was built without chaining `register()`, so its type does not contain the views. */
interface RouterWithoutViews {
  register: unknown;
  reverse: unknown;
  plugin: unknown;
  readonly '~views'?: undefined;
}

type ClientOf<Views, Errors> = {
  readonly [Path in keyof Views as Path extends `${string}/:${string}` ? never : Path]: Resource<
    WithErrors<Views[Path], Errors>
  > &
    Below<Views, NestedPath<Views>, Path, Errors>;
};

/** The routes of a view with a custom error body. */
type WithErrors<Routes, Errors> = [ErrorBody] extends [Errors]
  ? Routes
  : {
      readonly [Name in keyof Routes]: Routes[Name] extends Route
        ? Routes[Name] & Formatted<Errors>
        : { readonly [Method in keyof Routes[Name]]: Routes[Name][Method] & Formatted<Errors> };
    };

interface Formatted<Errors> {
  readonly errors: { readonly usual: Errors };
}

/** The paths of nested views. Only these are searched for each view. */
type NestedPath<Views> = Extract<keyof Views, `${string}/:${string}`>;

/** The views nested in one record of another view. */
type Below<Views, Nested extends keyof Views, Parent, Errors> = [PathBelow<Nested, Parent>] extends [never]
  ? unknown
  : (key: Key) => {
      readonly [Path in PathBelow<Nested, Parent> as LastPart<Path>]: Resource<WithErrors<Views[Path], Errors>> &
        Below<Views, Nested, Path, Errors>;
    };

/** The paths of views nested directly in another view. */
type PathBelow<Nested, Parent> = Parent extends string
  ? Exclude<Extract<Nested, `${Parent}/:${string}`>, `${Parent}/:${string}/:${string}`>
  : never;

/** The last part of a path: `books` in `authors/:author/books`. */
type LastPart<Path> = Path extends `${string}/:${infer Rest}`
  ? Rest extends `${string}/:${string}`
    ? LastPart<Rest>
    : Rest extends `${string}/${infer Last}`
      ? Last
      : never
  : never;

/** The calls of one view. */
export type Resource<Routes> = {
  readonly [Name in keyof Routes]: Routes[Name] extends SummaryRoute
    ? Summing<Routes[Name]>
    : Routes[Name] extends Route
      ? Name extends 'list' | 'retrieve'
        ? Routes[Name] extends SelectingRoute
          ? SelectingReading<Routes[Name]>
          : Reading<Routes[Name]>
        : Routes[Name] extends SelectingRoute
          ? SelectingWrite<Routes[Name]>
          : Call<
              Routes[Name],
              WriteArguments<Routes[Name], Name extends 'destroy' ? [] : BodyArgument<BodyOf<Routes[Name]>>>
            >
      : Action<Routes[Name]>;
} & EachOf<Routes> &
  ExportOf<Routes> & {
    /** Returns the common prefix of the keys of all reading calls of the view. */
    key(): QueryKey;
  };

/** A route that returns summaries of groups of records. */
interface SummaryRoute extends Route {
  /** The values of groups and of each aggregate, by name. */
  readonly summary: Readonly<Record<'group' | 'sum' | 'avg' | 'min' | 'max', object>>;
}

type SummaryNames<R extends SummaryRoute, Parameter extends keyof SummaryRoute['summary']> = Names<
  keyof R['summary'][Parameter]
>;

/** The names that a call requests. */
interface SummaryQuery<Group, Sum, Avg, Min, Max> {
  /** The fields to group records by. Default: one group with all records. */
  readonly group?: Group | undefined;
  /** The fields to add up. */
  readonly sum?: Sum | undefined;
  readonly avg?: Avg | undefined;
  readonly min?: Min | undefined;
  readonly max?: Max | undefined;
}

type AnySummaryQuery<R extends SummaryRoute> = SummaryQuery<
  SummaryNames<R, 'group'>,
  SummaryNames<R, 'sum'>,
  SummaryNames<R, 'avg'>,
  SummaryNames<R, 'min'>,
  SummaryNames<R, 'max'>
>;

/** A call for a summary. Its type contains exactly the requested values. */
interface Summing<R extends SummaryRoute> extends Callable<SummaryData<R, AnySummaryQuery<R>>> {
  <
    const Group extends SummaryNames<R, 'group'> = never,
    const Sum extends SummaryNames<R, 'sum'> = never,
    const Avg extends SummaryNames<R, 'avg'> = never,
    const Min extends SummaryNames<R, 'min'> = never,
    const Max extends SummaryNames<R, 'max'> = never,
  >(
    query?: R['query'] & SummaryQuery<Group, Sum, Avg, Min, Max>,
    options?: CallOptions,
  ): Promise<SummaryData<R, SummaryQuery<Group, Sum, Avg, Min, Max>>>;
  /**
   * Makes the same call without throwing ApiError. Returns a union of the response and the errors that the route can
   * have.
   */
  safe<
    const Group extends SummaryNames<R, 'group'> = never,
    const Sum extends SummaryNames<R, 'sum'> = never,
    const Avg extends SummaryNames<R, 'avg'> = never,
    const Min extends SummaryNames<R, 'min'> = never,
    const Max extends SummaryNames<R, 'max'> = never,
  >(
    query?: R['query'] & SummaryQuery<Group, Sum, Avg, Min, Max>,
    options?: CallOptions,
  ): Promise<Answer<SummaryRouteOf<R, SummaryData<R, SummaryQuery<Group, Sum, Avg, Min, Max>>>, 'read'>>;
  /**
   * Returns a cache key for the response, for example for TanStack Query. Equal requests have equal keys, made of JSON
   * values only.
   */
  key(query?: R['query'] & AnySummaryQuery<R>): QueryKey;
}

interface SummaryRouteOf<R extends SummaryRoute, Data> extends Route {
  readonly detail: false;
  readonly data: Data;
  readonly errors: R['errors'];
}

interface SummaryData<R extends SummaryRoute, Ask> {
  readonly results: (GroupRow<R, Ask> & SummaryTotals<R, Ask>)[];
}

interface GroupRow<R extends SummaryRoute, Ask> {
  readonly group: SummaryValues<R['summary']['group'], ChosenIn<Ask, 'group'>>;
  /** The number of records in the group. */
  readonly count: number;
}

type SummaryTotals<R extends SummaryRoute, Ask> = {
  readonly [
    Name in Exclude<keyof R['summary'], 'group'> as [ChosenIn<Ask, Name>] extends [never] ? never : Name
  ]: SummaryValues<R['summary'][Name], ChosenIn<Ask, Name>>;
};

type ChosenIn<Ask, Name> = Exclude<Ask[Name & keyof Ask], undefined>;

/** The values of the requested names. If the names are not literal types, each value is optional. */
type SummaryValues<All, Name> = [Name] extends [never]
  ? Record<never, never>
  : [Name] extends [readonly (infer One)[]]
    ? number extends Name['length']
      ? Partial<All>
      : Pick<All, One & keyof All>
    : [Name] extends [string]
      ? Pick<All, Name & keyof All>
      : Partial<All>;

/** A route that lets clients choose the fields of records. */
interface SelectingRoute extends Route {
  readonly selects: {
    readonly record: unknown;
    readonly member: PropertyKey;
    readonly expandable: object;
    readonly fields: PropertyKey;
  };
}

type Names<Name> = (Name & string) | readonly (Name & string)[];
type Added<R extends SelectingRoute> = Names<keyof R['selects']['expandable']>;
type Kept<R extends SelectingRoute> = Names<R['selects']['fields']>;

interface Selection<Expand, Fields> {
  /** The fields to add. Literal names appear in the type of the response. */
  readonly expand?: Expand | undefined;
  /** The only fields to send. With literal names, the response type has only these fields. */
  readonly fields?: Fields | undefined;
}

/** Carries the response type of a call for `DataOf`, because a generic call's own type does not reveal it. */
interface Callable<Data> {
  /** Exists only in the types. */
  readonly '~data'?: Data;
}

/**
 * The type that a call returns without chosen fields: a record, a page, or the response of an action. For the type of a
 * body, use the parameter: `Parameters<typeof api.products.create>[0]`.
 *
 * @example
 * type Product = DataOf<typeof api.products.retrieve>;
 * type Page = DataOf<typeof api.products.list>;
 */
export type DataOf<ACall> = ACall extends Callable<infer Data> ? Data : never;

/** A reading call whose response contains the chosen fields. */
interface SelectingReading<R extends SelectingRoute> extends Callable<R['data']> {
  <const Expand extends Added<R> = never, const Fields extends Kept<R> = never>(
    ...args: ReadArguments<R, R['query'] & Selection<Expand, Fields>>
  ): Promise<Selected<R, Expand, Fields>>;
  /** Makes the same call without throwing ApiError. Returns a union of the response and the errors that the route can have. */
  safe<const Expand extends Added<R> = never, const Fields extends Kept<R> = never>(
    ...args: ReadArguments<R, R['query'] & Selection<Expand, Fields>>
  ): Promise<Answer<SelectedRoute<R, Expand, Fields>, 'read'>>;
  /**
   * Returns a cache key for the response, for example for TanStack Query. Equal requests have equal keys, made of JSON
   * values only.
   */
  key(...args: [...KeyArgument<R>, query?: R['query'] & Selection<Added<R>, Kept<R>>]): QueryKey;
}

type SelectingArguments<R extends SelectingRoute, Expand, Fields> = [
  ...KeyArgument<R>,
  ...BodyArgument<BodyOf<R>>,
  options?: OptionsOf<R> & { readonly query?: Selection<Expand, Fields> },
];

/** A writing call whose response contains the chosen fields. */
interface SelectingWrite<R extends SelectingRoute> extends Callable<R['data']> {
  <const Expand extends Added<R> = never, const Fields extends Kept<R> = never>(
    ...args: SelectingArguments<R, Expand, Fields>
  ): Promise<Selected<R, Expand, Fields>>;
  /** Makes the same call without throwing ApiError. Returns a union of the response and the errors that the route can have. */
  safe<const Expand extends Added<R> = never, const Fields extends Kept<R> = never>(
    ...args: SelectingArguments<R, Expand, Fields>
  ): Promise<Answer<SelectedRoute<R, Expand, Fields>>>;
}

type SelectedRoute<R extends SelectingRoute, Expand, Fields> = Omit<R, 'data'> & {
  readonly detail: R['detail'];
  readonly query: R['query'];
  readonly body: R['body'];
  readonly data: Selected<R, Expand, Fields>;
  readonly errors: R['errors'];
};

/** The response of a route, with the chosen fields in its records. */
type Selected<R extends SelectingRoute, Expand, Fields> = [R['selects']['member']] extends [never]
  ? InPlace<R['data'], SelectedRecord<R['selects'], Expand, Fields>>
  : {
      readonly [Name in keyof R['data']]: Name extends R['selects']['member']
        ? InPlace<R['data'][Name], SelectedRecord<R['selects'], Expand, Fields>>
        : R['data'][Name];
    };

type InPlace<Data, Item> = Data extends readonly unknown[] ? Item[] : Item;

type SelectedRecord<Of extends SelectingRoute['selects'], Expand, Fields> = [Fields] extends [never]
  ? Expanded<Of, Expand>
  : Fields extends readonly unknown[]
    ? number extends Fields['length']
      ? Partial<Expanded<Of, Expand>>
      : Pick<Expanded<Of, Expand>, Fields[number] & keyof Expanded<Of, Expand>>
    : Pick<Expanded<Of, Expand>, Fields & keyof Expanded<Of, Expand>>;

/**
 * An added field replaces a field of the same name. If the names are not literal types, each added field is optional.
 */
type Expanded<Of extends SelectingRoute['selects'], Expand> = [Expand] extends [never]
  ? Of['record']
  : Expand extends readonly unknown[]
    ? number extends Expand['length']
      ? Of['record'] & Partial<Of['expandable']>
      : With<Of['record'], Pick<Of['expandable'], Expand[number] & keyof Of['expandable']>>
    : With<Of['record'], Pick<Of['expandable'], Expand & keyof Of['expandable']>>;

type With<Output, More> = {
  [Name in keyof Output | keyof More]: Name extends keyof More
    ? More[Name]
    : Name extends keyof Output
      ? Output[Name]
      : never;
};

/** The calls of an action: the function itself for GET, a method such as `post` for others. */
type Action<Methods> = (Methods extends { readonly get: infer Get extends Route } ? Reading<Get> : unknown) & {
  readonly [Method in Exclude<keyof Methods, 'get'>]: Methods[Method] extends Route
    ? Call<Methods[Method], WriteArguments<Methods[Method], BodyArgument<BodyOf<Methods[Method]>>>>
    : never;
};

/** A call. It throws ApiError; `safe` returns the error instead. */
export interface Call<
  R extends Route,
  Arguments extends readonly unknown[],
  Kind extends 'read' | 'write' = 'write',
> extends Callable<R['data']> {
  (...args: Arguments): Promise<R['data']>;
  /** Makes the same call without throwing ApiError. Returns a union of the response and the errors that the route can have. */
  safe(...args: Arguments): Promise<Answer<R, Kind>>;
}

interface Reading<R extends Route> extends Call<
  R,
  Requires<R['query']> extends true
    ? [...KeyArgument<R>, query: R['query'], options?: CallOptions]
    : ReadArguments<R, Query<R['query']>>,
  'read'
> {
  /**
   * Returns a cache key for the response, for example for TanStack Query. Equal requests have equal keys, made of JSON
   * values only.
   */
  key(
    ...args: [
      ...KeyArgument<R>,
      ...(Requires<R['query']> extends true ? [query: R['query']] : [query?: Query<R['query']>]),
    ]
  ): QueryKey;
}

/** A key for a cache of responses. */
export type QueryKey = readonly unknown[];

type KeyArgument<R extends Route> = R['detail'] extends true ? [key: Key] : [];

type Requires<Parameters> = Record<never, never> extends Parameters ? false : true;

/** A route without parameters needs a type without properties: `{}` would accept any object. */
type Query<Parameters> = [keyof Parameters] extends [never] ? Readonly<Record<string, never>> : Parameters;

/** In a singleton's call, undefined as the first argument would look like a missing key. */
type ReadArguments<R extends Route, Parameters> = R['detail'] extends 'alone'
  ? [] | [query: object & Parameters, options?: CallOptions]
  : [...KeyArgument<R>, query?: Parameters, options?: CallOptions];

/**
 * The body of a route. On a collection, a bare string or number would look like a record's key, so it must be sent as a
 * Blob.
 */
type BodyOf<R extends Route> = R['detail'] extends true
  ? R['body']
  : unknown extends R['body']
    ? object | boolean | null | undefined
    : Exclude<R['body'], Key> | ([Extract<R['body'], Key>] extends [never] ? never : Blob);

type BodyArgument<Body> = unknown extends Body
  ? [body?: unknown]
  : undefined extends Body
    ? [body?: Body]
    : [body: Body];

type WriteArguments<R extends Route, Body extends readonly unknown[]> = [
  ...KeyArgument<R>,
  ...Body,
  ...([keyof R['query']] extends [never]
    ? [options?: OptionsOf<R>]
    : Requires<R['query']> extends true
      ? [options: OptionsOf<R> & { readonly query: R['query'] }]
      : [options?: OptionsOf<R> & { readonly query?: R['query'] }]),
];

type OptionsOf<R extends Route> = R['detail'] extends false ? CallOptions : WriteRecordOptions;

/** The result of a call that does not throw. */
export type Answer<R extends Route, Kind extends 'read' | 'write' = 'write'> =
  | { readonly ok: true; readonly status: number; readonly headers: Headers; readonly data: R['data'] }
  | Failure<StatusOf<R, Kind> | (keyof R['errors'] & number), R['errors']>;

type Failure<Status, Bodies> = Status extends number
  ? {
      readonly ok: false;
      readonly status: Status;
      readonly error: ApiError<Status, ErrorOf<Status, Bodies>>;
    }
  : never;

/** The body of an error: the route's body for its status, else the API's usual one. */
type ErrorOf<Status, Bodies> = Status extends keyof Bodies
  ? unknown extends Bodies[Status]
    ? UsualError<Bodies>
    : Bodies[Status]
  : UsualError<Bodies>;

type UsualError<Bodies> = Bodies extends { readonly usual: infer Errors } ? Errors : ErrorBody;

/** The library's errors on a route, by its kind. Status 0 means that no response was received; 502 and 504 come from proxies. */
type StatusOf<R extends Route, Kind> =
  | (0 | 400 | 401 | 403 | 405 | 412 | 414 | 422 | 429 | 431 | 500 | 502 | 503 | 504)
  | (R['detail'] extends false ? never : 404)
  | (Kind extends 'write' ? 408 | 409 | 413 | 415 | (R['detail'] extends false ? never : 428) : never);

/** A list that `each` can walk through. */
interface ListRoute extends Route {
  readonly record: unknown;
  readonly narrowing: object;
  readonly paging: unknown;
  readonly exports: string;
}

type ExportOf<Routes> = Routes extends { readonly list: infer List extends ListRoute }
  ? [List['exports']] extends [never]
    ? unknown
    : { readonly exportAs: Export<List> }
  : unknown;

type ExportArguments<List extends ListRoute> = [
  format: List['exports'],
  query?: Query<List['narrowing'] & (List extends SelectingRoute ? Selection<Added<List>, Kept<List>> : unknown)>,
  options?: CallOptions,
];

/** Exports the whole list in another format, filtered and sorted, without pages. */
interface Export<List extends ListRoute> {
  /**
   * Returns a `Response` with an unread body, as `fetch` does: use `await answer.text()` or `answer.body`. The time
   * limit ends with the first byte.
   */
  (...args: ExportArguments<List>): Promise<Response>;
  /** Makes the same call without throwing ApiError. Returns a union of the response and the errors that the route can have. */
  safe(...args: ExportArguments<List>): Promise<Answer<ExportRoute<List>, 'read'>>;
}

interface ExportRoute<List extends ListRoute> extends Route {
  readonly detail: false;
  readonly data: Response;
  readonly errors: List['errors'];
}

type EachOf<Routes> = Routes extends { readonly list: infer List extends ListRoute }
  ? [List['paging']] extends [never]
    ? unknown
    : List extends SelectingRoute
      ? {
          /**
           * Yields all records of a list with the chosen fields. Each page is requested when the previous one has been
           * consumed.
           */
          each<const Expand extends Added<List> = never, const Fields extends Kept<List> = never>(
            ...args: EachArguments<List, Selection<Expand, Fields>>
          ): AsyncGenerator<SelectedRecord<List['selects'], Expand, Fields>, void, undefined>;
        }
      : {
          /** Yields all records of a list. Each page is requested when the previous one has been consumed. */
          each(...args: EachArguments<List>): AsyncGenerator<List['record'], void, undefined>;
        }
  : unknown;

type EachArguments<List extends ListRoute, Chosen = unknown> = List['paging'] extends null
  ? [query?: Query<List['narrowing'] & Chosen>, options?: CallOptions]
  : List['paging'] extends undefined
    ? [query?: EachQuery<List> & Chosen, options?: CallOptions]
    : [
        query: EachQuery<List> & Chosen,
        options: CallOptions & {
          /** The paginator's names for parameters and page members, if they are not the usual ones. */
          readonly paging: List['paging'];
        },
      ];

type EachQuery<List extends ListRoute> = List['narrowing'] & {
  /** Records per page. Default: the server's. */
  readonly pageSize?: number | undefined;
};
