import type { Declarations } from './api.ts';

/** The list of a model view: its route, its records, and the names that its paginator uses. */
export interface ListOf<D extends Declarations> {
  readonly detail: false;
  readonly query: ListParameters<D>;
  readonly body: undefined;
  readonly data: Paging<D>['page'];
  readonly errors: Record<never, never>;
  readonly record: D['outputs']['list'];
  /** The member of a page that holds the records; never if a list is an array. */
  readonly resultsName: Paging<D>['results'];
  /** The parameters that filter and sort, without those for pages. */
  readonly narrowing: Narrowing<D>;
  /** The names of parameters and page members for `each`; undefined for the usual names of page numbers or cursors. */
  readonly paging: Paging<D>['names'];
  /** The formats in which the list can be exported. */
  readonly exports: D['exports'];
}

/** Every parameter of a list. */
export type ListParameters<D extends Declarations> = Flat<Narrowing<D> & Paging<D>['parameters']>;

type Flat<T> = { readonly [Name in keyof T]: T[Name] };
type None = Record<never, never>;

type Narrowing<D extends Declarations> = Flat<
  FilterParameters<D> &
    Given<
      D['sort'],
      Parameter<D['filters'], 'orderingFields', 'sort'>,
      SortName<D['sort']> | readonly SortName<D['sort']>[]
    >
>;

/** The parameters that filter, without sorting. */
export type FilterParameters<D extends Declarations> = FieldFilters<D> &
  Given<D['search'], Parameter<D['filters'], 'searchFields', 'search'>, string> &
  Given<LogicField<D>, Parameter<D['filters'], 'jsonLogicFields', 'filter'>, JsonLogic<LogicField<D>>>;

/** A parameter that exists only if something is declared for it. */
type Given<Declared, Name extends string, Value> = [Declared] extends [never]
  ? None
  : { readonly [Key in Name]?: Value | undefined };

type SortName<Name extends string> = Name | `-${Name}`;

/** The parameter name of a filter: the usual one, unless one of the view's filter classes has another. */
type Parameter<Classes, Option, Usual extends string> = [Classes] extends [never]
  ? Usual
  : Classes extends { readonly reads?: readonly (infer Read)[] | undefined; new (...args: never): infer Filter }
    ? [Option] extends [Read]
      ? ['searchFields' | 'orderingFields'] extends [Read]
        ? never
        : Filter extends { readonly parameter: infer Name extends string }
          ? Named<Name, Usual>
          : never
      : never
    : never;

/** The name that a subclass declares, else the usual one. */
type Named<Name extends string, Usual extends string> = string extends Name ? Usual : Name;

type FieldFilters<D extends Declarations> =
  ReadsFields<D['filters']> extends true
    ? { readonly [Name in keyof D['filterValues']]?: ParameterValue<D['filterValues'][Name]> | undefined }
    : None;

/**
 * True if the classes include the filter for query parameters. The JSON Logic filter also reads `filterFields`, as a
 * default, but does not count.
 */
type ReadsFields<Classes> = [Classes] extends [never]
  ? true
  : true extends (
        Classes extends { readonly reads?: readonly (infer Read)[] | undefined; new (...args: never): object }
          ? [Read] extends [never]
            ? false
            : [Read] extends ['filterFields']
              ? true
              : false
          : false
      )
    ? true
    : false;

/** The type of a query parameter for a lookup's values: without null, and with keys instead of related records. */
type ParameterValue<Value> = Value extends readonly [infer From, infer To]
  ? readonly [Scalar<From>, Scalar<To>]
  : Value extends readonly (infer Item)[]
    ? readonly Scalar<Item>[]
    : Scalar<Value>;

/** Removes an ORM's type brands from a value. */
type Scalar<Value> = Value extends Date
  ? Date | string
  : Value extends bigint
    ? bigint | string
    : Value extends boolean
      ? Value extends true
        ? true
        : false
      : Value extends string
        ? string extends Value
          ? string
          : Value
        : Value extends number
          ? number extends Value
            ? number
            : Value
          : never;

/** The fields of JSON Logic: the declared ones, else those behind the filter fields. */
type LogicField<D extends Declarations> = [D['jsonLogicFields']] extends [never]
  ? LogicName<D['filterFields'][keyof D['filterFields']]>
  : D['jsonLogicFields'];

/** The name of the field of a filter: its path, or that of a value in JSON. */
type LogicName<Filter> = Filter extends string
  ? PathOf<Filter>
  : Filter extends { readonly logicName?: infer Name } | readonly [{ readonly logicName?: infer Name }, string]
    ? Extract<Name, string>
    : never;

type PathOf<Name extends string> = Name extends `${infer Head}__${infer Rest}`
  ? Rest extends Lookup
    ? Head
    : `${Head}.${PathOf<Rest>}`
  : Name;

/** The lookups that a filter field's name may end with. */
export type Lookup =
  | (
      | 'exact'
      | 'iexact'
      | 'ne'
      | 'contains'
      | 'overlaps'
      | 'icontains'
      | 'startswith'
      | 'istartswith'
      | 'endswith'
      | 'iendswith'
    )
  | ('gt' | 'gte' | 'lt' | 'lte' | 'in' | 'range' | 'date' | 'isempty' | 'isnull');

/** A condition in JSON Logic (https://jsonlogic.com) over the fields of a view. */
export type JsonLogic<Field extends string> = {
  readonly [Operator in keyof Operands<Field>]: { readonly [Name in Operator]: Operands<Field>[Operator] };
}[keyof Operands<Field>];

interface Operands<Field extends string> {
  readonly '==': Pair<Field>;
  readonly '!=': Pair<Field>;
  readonly '>': Pair<Field>;
  readonly '>=': Pair<Field>;
  readonly '<': Pair<Field> | Between<Field>;
  readonly '<=': Pair<Field> | Between<Field>;
  readonly in: readonly [Var<Field>, readonly LogicValue[]] | readonly [LogicValue, Var<Field>];
  readonly and: readonly JsonLogic<Field>[];
  readonly or: readonly JsonLogic<Field>[];
  readonly '!': JsonLogic<Field> | readonly [JsonLogic<Field>];
}

type LogicValue = string | number | boolean | null;
interface Var<Field extends string> {
  readonly var: Field;
}
type Pair<Field extends string> = readonly [Var<Field>, LogicValue] | readonly [LogicValue, Var<Field>];
type Between<Field extends string> = readonly [LogicValue, Var<Field>, LogicValue];

/** A paginator's page, its parameters, and the names that `each` needs if they are not the usual ones. */
type Paging<D extends Declarations> = D['pagination'] extends null
  ? AllOf<D['outputs']['list'], ManyOf<D>, CountNameOf<D['envelope']>>
  : D['pagination'] extends new (...args: never) => infer Paginator
    ? PagingBy<Paginator, D>
    : UnknownPaging;

/** A list without pages: an array, or an array inside the envelope's member. */
type AllOf<Item, Many, Count> = [Many] extends [never]
  ? { readonly page: Item[]; readonly parameters: None; readonly names: null; readonly results: never }
  : {
      readonly page: { readonly [Name in Many & string]: Item[] } & { readonly [Name in Count & string]: number };
      readonly parameters: None;
      readonly names: never;
      readonly results: Many;
    };

interface UnknownPaging {
  readonly page: unknown;
  readonly parameters: None;
  readonly names: never;
  readonly results: 'results';
}

/** The envelope's name for several records; never if it has none. */
export type ManyOf<D extends Declarations> = [D['envelope']] extends [never]
  ? never
  : D['envelope'] extends { readonly many: infer Many extends string }
    ? Many
    : never;

type CountNameOf<Envelope> = Envelope extends { readonly count: infer Count extends string } ? Count : never;

type PagingBy<Paginator, D extends Declarations> = Paginator extends {
  readonly pageParameter: infer Page extends string;
  readonly pageSizeParameter: infer Size extends string;
}
  ? NamedPaging<
      Paginator,
      D,
      CountedPage<Paginator, D>,
      { readonly page: Named<Page, 'page'>; readonly pageSize: Named<Size, 'page_size'> },
      Numbers<Named<Page, 'page'> | Named<Size, 'page_size'>>
    >
  : Paginator extends {
        readonly limitParameter: infer Limit extends string;
        readonly offsetParameter: infer Offset extends string;
      }
    ? NamedPaging<
        Paginator,
        D,
        CountedPage<Paginator, D>,
        { readonly offset: Named<Offset, 'offset'>; readonly pageSize: Named<Limit, 'limit'> },
        Numbers<Named<Limit, 'limit'> | Named<Offset, 'offset'>>
      >
    : Paginator extends {
          readonly cursorParameter: infer Cursor extends string;
          readonly pageSizeParameter: infer Size extends string;
        }
      ? NamedPaging<
          Paginator,
          D,
          ByCursor<D['outputs']['list']>,
          { readonly cursor: Named<Cursor, 'cursor'>; readonly pageSize: Named<Size, 'page_size'> },
          Numbers<Named<Size, 'page_size'>> & { readonly [Name in Named<Cursor, 'cursor'>]?: string | undefined }
        >
      : UnknownPaging;

type CountedPage<Paginator, D extends Declarations> = Counted<D['outputs']['list'], CountOf<Paginator, D['count']>>;

/** The pages of a paginator, with member names from the envelope or the paginator. */
type NamedPaging<Paginator, D extends Declarations, Page, Parameters, Query> = Paginator extends {
  readonly totalHeader: string;
}
  ? ArrayPaging<D, Parameters, Query>
  : PagesWithMembers<Paginator, D, Page, Parameters, Query>;

/** Pages that are arrays. A header holds the number of all records. */
interface ArrayPaging<D extends Declarations, Parameters, Query> {
  readonly page: D['outputs']['list'][];
  readonly parameters: Query;
  readonly names: Parameters & { readonly results: null };
  readonly results: never;
}

interface PagesWithMembers<Paginator, D extends Declarations, Page, Parameters, Query> {
  readonly page: HasUsualMembers<Paginator, D> extends true
    ? Page
    : { readonly [Member in keyof Page as MemberName<Paginator, D, Member>]: Page[Member] };
  readonly parameters: Query;
  readonly names: HasUsualMembers<Paginator, D> extends true
    ? Names<Parameters>
    : EachNames<Paginator, D, keyof Page> & (Names<Parameters> extends undefined ? unknown : Parameters);
  readonly results: MemberName<Paginator, D, 'results'>;
}

/** The names of the members that `each` needs to reach the next page. */
type EachNames<Paginator, D extends Declarations, Members> = {
  readonly [
    Member in Members & ('results' | 'next' | 'next_cursor') as MemberName<Paginator, D, Member> extends never
      ? never
      : Member
  ]: MemberName<Paginator, D, Member>;
};

type HasUsualMembers<Paginator, D extends Declarations> = [ManyOf<D>] extends [never]
  ? Paginator extends { readonly memberNames: infer Stated }
    ? None extends Stated
      ? true
      : false
    : true
  : false;

/**
 * The name of a page member: the envelope's, else the paginator's, else the usual one if there is no envelope; never if
 * it is left out.
 */
type MemberName<Paginator, D extends Declarations, Member> = Member extends 'results'
  ? [ManyOf<D>] extends [never]
    ? NameBy<Paginator, D, Member>
    : ManyOf<D>
  : Member extends 'count'
    ? [CountNameOf<D['envelope']>] extends [never]
      ? NameBy<Paginator, D, Member>
      : CountNameOf<D['envelope']>
    : NameBy<Paginator, D, Member>;

type NameBy<Paginator, D extends Declarations, Member> = [StatedName<Paginator, Member>] extends [null]
  ? never
  : [StatedName<Paginator, Member>] extends [string]
    ? StatedName<Paginator, Member>
    : [ManyOf<D>] extends [never]
      ? Member
      : Extract<Member, 'next_cursor' | 'previous_cursor'>;

/** The paginator's own name for a member. Null leaves the member out; undefined declares no name. */
type StatedName<Paginator, Member> = Paginator extends { readonly memberNames: infer Stated }
  ? Member extends keyof Stated
    ? undefined extends Stated[Member]
      ? undefined
      : Stated[Member]
    : undefined
  : undefined;

type Numbers<Name extends string> = { readonly [Key in Name]?: number | undefined };

/** Undefined if `each` already knows the names. */
type Names<All> = All extends { readonly page: 'page' } | { readonly cursor: 'cursor' }
  ? All extends { readonly pageSize: 'page_size' }
    ? undefined
    : All
  : All;

interface Counted<Item, Count> {
  readonly count: Count;
  readonly next: boolean;
  readonly previous: boolean;
  readonly results: Item[];
}

interface ByCursor<Item> {
  readonly next: boolean;
  readonly previous: boolean;
  readonly next_cursor: string | null;
  readonly previous_cursor: string | null;
  readonly results: Item[];
}

/** A number, or null if the view (else its paginator) does not count. */
type CountOf<Paginator, Count> = [Count] extends [never]
  ? Paginator extends { readonly count: infer Stated }
    ? NullOfNone<Stated>
    : number
  : NullOfNone<Count>;

type NullOfNone<Count> = [Count] extends ['none'] ? null : number;
