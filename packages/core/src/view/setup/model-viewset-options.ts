import type { EntityData } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { Awaitable } from '../../support/awaitable.ts';
import type {
  EmbeddedName,
  FieldName,
  LookupField,
  PathOf,
  Related,
  RelationName,
  ToManyName,
} from '../../fields/field-name.ts';
import type { FilterClass } from '../../filters/filter.ts';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { isPlainRecord, isRecord } from '../../support/json.ts';
import {
  ANYTHING,
  BOOLEAN,
  isListOf,
  FUNCTION,
  LIST,
  NAMES,
  type OptionRule,
  TEXT,
  TEXTS,
} from '../../errors/options.ts';
import type { PaginatorClass } from '../../pagination/paginator.ts';
import type { PermissionClass } from '../../permissions/permission.ts';
import type { Counting } from '../../query/language/query.ts';
import type { LookupName, Lookups, OrderName } from '../../query/language/lookup-name.ts';
import type { ExtraFields, ReadShape } from '../../shapes/read/read-shape.ts';
import { JsonValue } from '../../filters/json-value.ts';
import type { ValueLookup } from '../../filters/value-lookup.ts';
import { RelatedValue } from '../../shapes/read/related-value.ts';
import type { NamedSchema, ObjectSchema, StaticObject } from '../../shapes/schema-object.ts';
import type { NullOf, PropertyValue } from '../../shapes/wire-value.ts';
import type { ByProperty, SentBody } from '../../shapes/write/write-input.ts';
import type { WriteShape } from '../../shapes/write/write-shape.ts';
import { RATE_LIMIT_RULES, type RateLimitRuleInstance } from '../../throttle/rate-limit-rule.ts';
import type { Problems } from '../write/problems.ts';
import type { OneShape, ReadShapes, ShapesOf, WriteShapes } from '../request/named-shapes.ts';
import { actionsOf, type Words } from './action.ts';
import { DECLARATIONS, declaredMembers, spelledAlike } from './class-members.ts';
import {
  type OutputOperation,
  type Operation,
  type InputOperation,
  UPDATE_METHODS,
  type UpdateMethod,
} from '../request/operation.ts';
import { IDEMPOTENCY_RULE, type IdempotencyMode } from './idempotency.ts';
import { isTextSearch, type TextSearch } from '../../filters/text-search.ts';
import { DOCUMENTATION_RULES, type ViewDocumentation } from './view-documentation.ts';
import { PERMISSIONS_RULE, type PermissionsByOperation } from './view-permissions.ts';

/** A text field to search: `name` contains the word, `^name` starts with it, `=name` equals it. */
export type SearchField<Entity> = TextPath<Entity> | `^${TextPath<Entity>}` | `=${TextPath<Entity>}`;

type TextPath<Entity> = PathOf<Entity, '__', 3, 'text'> | PathOf<Entity, '__', 2, 'text', 'many'>;

/** A field that clients may use in JSON Logic. */
export type JsonLogicField<Entity> = PathOf<Entity, '.'> | PathOf<Entity, '.', 2, 'any', 'many'>;

/** Query parameter → lookup. */
export type FilterFields<Entity> = Readonly<Record<string, LookupName<Entity> | ValueLookup<Entity>>>;

/** A hand-written schema. All of its properties must be properties of the entity. */
type ShapeNames<Shape, Names> = Shape extends ObjectSchema ? NamedSchema<Shape, Names> : unknown;

/** The properties that a response may show. */
type AnyName<Entity> = FieldName<Entity> | ToManyName<Entity>;

type AnyWrite<Entity extends object> = WriteShape<Entity, object> | ObjectSchema;

/** The values of the option `write`. */
export type WriteOption<Entity extends object> = AnyWrite<Entity> | WriteShapes<Entity>;

/**
 * The body of create, derived from the option `write`. Several shapes give the union of their bodies. Without the
 * option, any object.
 */
export type InputOf<Write> = [Write] extends [never] ? object : ShapeInput<ShapesOf<Write, 'create'>>;

/** The body of PUT, derived from the option `write`. A PATCH may have any part of it. */
export type UpdateInputOf<Write> = [Write] extends [never] ? object : ShapeInput<ShapesOf<Write, 'update'>>;

type ShapeInput<Shape> =
  Shape extends WriteShape<infer _Entity, infer Input>
    ? Input
    : Shape extends ObjectSchema
      ? StaticObject<Shape>
      : never;

/** The fields of all bodies of the option `write`, by property. */
type TakenFields<Write> = Merged<ByProperty<InputOf<Write>> | ByProperty<UpdateInputOf<Write>>>;

/** The properties of all members of a union, each optional. */
type Merged<Union> = {
  [Name in KeyOf<Union>]?: Union extends unknown ? Union[Name & keyof Union] : never;
};

/** The value of an option. `never` if the view does not set it. */
export type Option<Options, Name extends keyof ModelViewSetOptions<never>> = Options[Name & keyof Options];

/** The operations that get a route. */
export type OperationOf<Options> = 'operations' extends keyof Options
  ? ItemOf<Option<Options, 'operations'>> & Operation
  : 'singleton' extends keyof Options
    ? 'retrieve' | ('write' extends keyof Options ? 'update' : never)
    : 'write' extends keyof Options
      ? Operation
      : 'list' | 'retrieve';

/** The items of a list. `never` if the view does not set the option. */
export type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;

/** The type of the option `extra`. */
export type ExtraOf<Extra> = [Extra] extends [never]
  ? object
  : Extra extends ObjectSchema
    ? StaticObject<Extra>
    : never;

/** The body of a view with the option `extra`. */
export type WithExtra<Input, Extra> = [Extra] extends [never] ? Input : Input & ExtraOf<Extra>;

/** The values that the view sets on create, as `em.create` takes them. */
type Fill<Entity extends object> = {
  readonly [Name in FieldName<Entity>]?: (
    request: FastifyRequest,
  ) => Awaitable<Exclude<EntityData<Entity>[Name], undefined>>;
};

/** The valid values of a body. References are still in the form that the client sent. */
type ValidData<Entity, Input> = {
  readonly [Name in keyof Input]?: Name extends RelationName<Entity>
    ? Input[Name]
    : Name extends keyof Entity
      ? PropertyValue<Entity, Name> | Extract<Input[Name], null>
      : Input[Name];
};

/** The values that a record would have after a write, for the fields of bodies that are not relations. */
type ValuesAfter<Entity, Input> = {
  readonly [Name in Exclude<keyof Input, RelationName<Entity>>]?: Name extends keyof Entity
    ? PropertyValue<Entity, Name> | NullOf<Entity[Name]> | Extract<Input[Name], null>
    : Input[Name];
};

/**
 * The path of a relation in a body: a relation of the entity or of its children. Names within children are checked at
 * registration.
 */
type ReferencePath<Entity> =
  | RelationName<Entity>
  | `${ToManyName<Entity> | EmbeddedName<Entity> | RelationName<Entity>}.${string}`;

/** A view class of this entity. Classes of entities with the same structure do not match. */
interface ViewClassOf<Entity> {
  new (): { performDestroy(request: never, entity: never): unknown };
  readonly '~entity'?: (entity: Entity) => Entity;
}

/**
 * View classes by the path of the relation: relations of the entity, of its nested records, and of theirs. The last are
 * checked at registration.
 */
type ReferenceViews<Entity> = {
  readonly [Name in RelationName<Entity>]?: ViewClassOf<Related<Entity, Name>> | 'self';
} & {
  readonly [Path in ChildReference<Entity>]?: ChildView<Entity, Path>;
} & Readonly<Record<`${RelationName<Entity>}.${string}.${string}`, ViewClassOf<never>>>;

type ChildReference<Entity> = {
  [Name in RelationName<Entity>]: `${Name}.${RelationName<Related<Entity, Name>>}`;
}[RelationName<Entity>];

type ChildView<Entity, Path> = Path extends `${infer Name extends RelationName<Entity>}.${infer Inner}`
  ? Inner extends keyof Related<Entity, Name>
    ? ViewClassOf<Related<Related<Entity, Name>, Inner>> | 'self'
    : never
  : never;

/** One shape, or shapes by name. Each schema may only have the given names, and each operation needs a shape. */
type Fitting<Given, Names, Shape, Operations extends string> = Given extends OneShape
  ? ShapeNames<Given, Names>
  : Given extends object
    ? { readonly [Name in keyof Given]: ShapeNames<Given[Name], Names> } & ('default' extends keyof Given
        ? unknown
        : { readonly [Name in Exclude<Operations, keyof Given>]: Shape })
    : unknown;

/** One read shape for every operation, or several by name. */
export type ReadOption<Entity extends object> = ReadShape<Entity, object> | ObjectSchema | ReadShapes<Entity>;

/** The type of the records of the option `read`. Several shapes give the union of their records. */
export type OutputOf<Read> =
  Read extends ReadShape<infer _Entity, infer Output>
    ? Output
    : Read extends ObjectSchema
      ? StaticObject<Read>
      : Read extends object
        ? OutputOf<Read[keyof Read]>
        : never;

/** The keys of all members of a union. */
export type KeyOf<Member> = Member extends unknown ? keyof Member : never;

/** The texts about the fields of a view's responses and bodies. */
type FieldWords<Entity, Names extends PropertyKey> = {
  readonly [Name in FieldName<Entity> | ToManyName<Entity> | Names]?: Words;
};

/** The names of the fields that bodies can have. */
type SentField<Write> = KeyOf<SentBody<InputOf<Write> | UpdateInputOf<Write>>>;

/** The type of an option that depends on other options. `DependentOptions` narrows it. */
type Dependent = {};

/** The options of a ModelViewSet. Only `read` is required. Unknown names do not compile. */
export interface ModelViewSetOptions<Entity extends object> extends Omit<ViewDocumentation, 'fieldWords'> {
  /** The texts about the fields of records, by name, for documents. They describe responses and bodies. */
  readonly fieldWords?: Dependent | undefined;
  /**
   * The records in responses: `readShape(…)`, or a TypeBox object whose properties are properties of the entity. The
   * shape decides which columns are read.
   *
   * For several shapes, name them by operation: `{ default: whole, list: brief }`. `default` is for all other
   * operations. `readShapeFor` can choose shapes with other names.
   */
  readonly read: ReadOption<Entity>;
  /**
   * Fields that clients can add to the responses of list, retrieve, create and update by `?expand=books,tags`. They
   * have the form of `readShape()`'s third parameter. A field replaces an existing field of the same name. Fields that
   * are not requested are not queried.
   */
  readonly expand?: Dependent;
  /**
   * True: clients can choose the fields of the responses of list, retrieve, create and update by `?fields=id,name`.
   * Other fields are not queried. In documents, the required fields are the required fields of a response without
   * `fields`. Default: true if the view declares `expand`, else false.
   */
  readonly fields?: boolean;
  /**
   * The bodies of create and update: `writeShape(…)` or a TypeBox object. Without `write`, the view is read-only.
   *
   * For several shapes, name them: `{ create, update }`, `{ default, staff }`. `default` is for operations without a
   * shape of their own. `writeShapeFor` can choose shapes with other names.
   */
  readonly write?: WriteOption<Entity>;
  /**
   * An object schema with further fields of the body that are not properties of the entity. Hooks get their values as a
   * separate parameter.
   */
  readonly extra?: ObjectSchema;
  /**
   * Values that the view sets on create, each by a sync or async function of the request. Clients cannot set them,
   * neither on create nor on update.
   */
  readonly fill?: Fill<Entity>;
  /**
   * Checks rules that involve several fields, and adds problems to `problems`. The client gets them together with the
   * problems of the schemas. May be asynchronous.
   *
   * - `data` has the valid fields of the body, including the fields of `extra`. Any field may be missing.
   * - `record` is the stored and locked record of an update; undefined on create.
   * - `after` has the values that the record would have after the write: sent values (including null), otherwise stored
   *   values. Invalid fields, relations and files are missing.
   *
   * @example
   * class CheckedViewSet extends ModelViewSet(Product, {
   *   read,
   *   write,
   *   validate: (_data, problems, _request, _record, { name, price }) => {
   *     if (price === 0 && name !== 'Sample') problems.add('/price', 'must be above 0, but of a sample');
   *   },
   * }) {}
   */
  readonly validate?: Dependent;
  /**
   * Permission classes for references, by the field of a body that refers to other records (`tags`; for children
   * `books.tags`). The field cannot refer to records that the classes hide from the request. Default: it can refer to
   * every record that the MikroORM filters of its entity and of `getQueryset` show. The response then reveals whether a
   * record exists.
   */
  readonly referencePermissions?: Readonly<Partial<Record<ReferencePath<Entity>, readonly PermissionClass[]>>>;
  /**
   * View classes for references, by the field of a body that refers to other records. The field can only refer to
   * records that the view shows to the request by GET: by its permissions, `getQueryset`, and the MikroORM filters that
   * `getQueryset` names. The view must be registered; `'self'` is this view. `referencePermissions` can narrow it
   * further. Default: see `referencePermissions`.
   */
  readonly referenceViews?: ReferenceViews<Entity>;
  /**
   * The field that identifies a record in its path, `/books/ash`: a text or an integer, unique and never NULL. The
   * parameter of the path is still called `pk`. Default: the primary key.
   */
  readonly lookupField?: LookupField<Entity>;
  /**
   * Makes the view a singleton: the request decides which record it is, and the path has no key. The function returns
   * lookups that match one record, or `{}` below a parent that has only one. Null or undefined gives 404. It must be
   * synchronous. A singleton has no list.
   *
   * @example
   * class OwnProductViewSet extends ModelViewSet(Product, {
   *   read,
   *   write,
   *   singleton: ({ user }) => user && { name: String(user.id) },
   * }) {}
   * router.register('product', OwnProductViewSet);   // GET, PUT and PATCH /product
   */
  readonly singleton?: (request: FastifyRequest) => Lookups<Entity> | null | undefined;
  /**
   * The operations that get a route. Default: all five; without `write`, list and retrieve. For a singleton: retrieve,
   * and with `write` also update.
   */
  readonly operations?: readonly Operation[];
  /**
   * The methods of `update`: PUT replaces a record, PATCH changes parts of it. A method that is not listed gives 405.
   * Default: both.
   */
  readonly updateMethods?: readonly UpdateMethod[];
  /** Fields that `?search=` searches, or a search such as `fullText()` of `@viewset/full-text`. */
  readonly searchFields?: readonly SearchField<Entity>[] | TextSearch<Entity>;
  /** Query parameter → lookup, `{ min_price: 'price__gte' }`, or `exists(…)`, `count(…)`, `inJson(…)`, `[count(…), 'gte']`. */
  readonly filterFields?: FilterFields<Entity>;
  /** Fields that `?filter=` (JSON Logic) can use, or `inJson(…)`. Default: the fields that `filterFields` uses. */
  readonly jsonLogicFields?: readonly (JsonLogicField<Entity> | JsonValue<Entity, string | number | boolean>)[];
  /** Sort name → field, or `exists(…)`, `count(…)`, `inJson(…)`: `?sort=-price`. */
  readonly orderingFields?: Readonly<
    Record<
      string,
      PathOf<Entity, '__'> | RelatedValue<Entity, boolean | number> | JsonValue<Entity, string | number | boolean>
    >
  >;
  /** The order of lists if the request does not sort. Default: the primary key, ascending. */
  readonly ordering?: readonly OrderName<Entity>[];
  /** Filter classes, applied in order. Default: the plugin's, which is `DEFAULT_FILTERS`. */
  readonly filters?: readonly FilterClass[];
  /**
   * The paginator of lists. null: no pages, so a list is a plain array. Default: the plugin's, which uses page numbers.
   */
  readonly pagination?: PaginatorClass | null;
  /**
   * True: the list also accepts QUERY (RFC 10008), a GET with its parameters in a JSON body. Use it for filters that
   * are too long or too private for a URL. Default: false.
   */
  readonly queryMethod?: boolean;
  /** The number of records on a page if the request gives no size. Default: the paginator's, 10. */
  readonly pageSize?: number;
  /**
   * The maximum number of records on a page. Larger requested sizes become this size. Default: the paginator's, 100.
   */
  readonly maxPageSize?: number;
  /**
   * How the total number of records of a list is counted: `exact`, `estimated` or `none`. Default: the paginator's,
   * exact.
   */
  readonly count?: Counting;
  /** See `ViewSet.permissionClasses`. */
  readonly permissionClasses?: readonly PermissionClass[] | PermissionsByOperation;
  /** See `ViewSet.throttles`. */
  readonly throttles?: readonly RateLimitRuleInstance[];
  /** See `ViewSet.ignoreUnknownParameters`. */
  readonly ignoreUnknownParameters?: boolean | readonly string[];
  /** See `ViewSet.allowAnonymous`. */
  readonly allowAnonymous?: boolean;
  /** See `ViewSet.idempotency`. */
  readonly idempotency?: IdempotencyMode;
  /** See `ViewSet.batchable`. */
  readonly batchable?: boolean;
}

/**
 * The options whose types depend on other options, to intersect with `ModelViewSetOptions`. Empty for options that the
 * view does not set and for shapes that fit, so that compiler messages name only `ModelViewSetOptions<Book>`.
 */
export type DependentOptions<Entity extends object, Options> = Wanted<
  'read',
  Option<Options, 'read'>,
  Fitting<
    Option<Options, 'read'>,
    AnyName<Entity>,
    ReadShape<Entity, object> | ObjectSchema,
    Extract<OperationOf<Options>, OutputOperation>
  >
> &
  Wanted<
    'write',
    Option<Options, 'write'>,
    Fitting<Option<Options, 'write'>, FieldName<Entity>, AnyWrite<Entity>, InputOperation>
  > &
  ('expand' extends keyof Options ? { readonly expand?: ExtraFields<Entity, keyof Options['expand']> } : {}) &
  ('fieldWords' extends keyof Options
    ? {
        readonly fieldWords?:
          | FieldWords<
              Entity,
              | KeyOf<OutputOf<Option<Options, 'read'>>>
              | SentField<Option<Options, 'write'>>
              | keyof ExtraOf<Option<Options, 'extra'>>
            >
          | undefined;
      }
    : {}) &
  ('validate' extends keyof Options
    ? { readonly validate?: Validate<Entity, Option<Options, 'write'>, Option<Options, 'extra'>> }
    : {});

/** Empty if the value of an option has the wanted type. */
type Wanted<Name extends string, Value, Type> = [Value] extends [Type] ? {} : { readonly [Key in Name]: Type };

type Validate<Entity, Write, Extra> = (
  data: ValidData<Entity, TakenFields<Write>> & Partial<ExtraOf<Extra>>,
  problems: Problems<(SentField<Write> | keyof ExtraOf<Extra>) & string>,
  request: FastifyRequest,
  record: Entity | undefined,
  after: ValuesAfter<Entity, TakenFields<Write>>,
) => Awaitable<void>;

/** The options of any ModelViewSet. */
export interface AnyModelOptions extends ModelViewSetOptions<object> {
  readonly validate?: Validate<object, never, never>;
}

const byParameter = (what: string): OptionRule => [
  `an object of ${what} by the names that clients use, such as { title: 'title' }`,
  (value) => isPlainRecord(value) && Object.values(value).every(isFilterOrOrder),
];

/** A name, or a value of related records or in JSON, alone or with a lookup. */
function isFilterOrOrder(value: unknown): boolean {
  return (
    TEXT[1](value) ||
    value instanceof RelatedValue ||
    value instanceof JsonValue ||
    (Array.isArray(value) && value.length === 2)
  );
}

/**
 * The rules for the values of the options that no feature has. Whether values fit the entity is checked when the view is
 * registered.
 */
export const MODEL_VIEWSET_RULES = {
  read: ANYTHING,
  expand: NAMES,
  fields: BOOLEAN,
  write: ANYTHING,
  extra: ['a Type.Object()', (value) => isRecord(value) && isRecord(value['properties'])],
  fill: [
    'functions by field',
    (value) => isPlainRecord(value) && Object.values(value).every((each) => typeof each === 'function'),
  ],
  validate: FUNCTION,
  referencePermissions: ['lists of permission classes by field', isPlainRecord],
  referenceViews: ['view classes by field', isPlainRecord],
  lookupField: TEXT,
  singleton: FUNCTION,
  operations: LIST,
  updateMethods: [
    'a list of PUT, PATCH',
    (value) => isListOf(value, (item) => UPDATE_METHODS.includes(item as UpdateMethod)) && value.length > 0,
  ],
  searchFields: [`${TEXTS[0]}, or a search such as fullText()`, (value) => TEXTS[1](value) || isTextSearch(value)],
  filterFields: byParameter('lookups'),
  jsonLogicFields: [
    'a list of texts, or of inJson()',
    (value) => isListOf(value, (item) => TEXT[1](item) || item instanceof JsonValue),
  ],
  orderingFields: byParameter('fields'),
  ordering: TEXTS,
  filters: ANYTHING,
  pagination: ANYTHING,
  queryMethod: BOOLEAN,
  pageSize: ANYTHING,
  maxPageSize: ANYTHING,
  count: ANYTHING,
  permissionClasses: PERMISSIONS_RULE,
  throttles: RATE_LIMIT_RULES,
  ignoreUnknownParameters: ANYTHING,
  allowAnonymous: BOOLEAN,
  idempotency: IDEMPOTENCY_RULE,
  batchable: BOOLEAN,
  ...DOCUMENTATION_RULES,
} as const satisfies Readonly<Partial<Record<keyof AnyModelOptions, OptionRule>>>;

/**
 * Rejects an option in the body of a view class, `searchFields = ['title']`, in any spelling, because nothing reads it
 * there. A member with the name of an option is allowed if its value is not valid for the option, such as an action
 * `count`.
 *
 * @param ofFeatures the rules of the options that features have
 */
export function checkClassBody(
  view: { readonly name: string },
  entity: string,
  ofFeatures: ReadonlyMap<string, OptionRule>,
): void {
  const actions = actionsOf(view);
  const rules = [...Object.entries<OptionRule>(MODEL_VIEWSET_RULES), ...ofFeatures];
  const asSpelled = new Map(rules.map(([option, rule]) => [spelledAlike(option), [option, rule] as const]));
  for (const { name, value } of declaredMembers(view)) {
    const [option, rule] = asSpelled.get(spelledAlike(name)) ?? [];
    if (rule === undefined || value === undefined || name in DECLARATIONS || !rule[1](value)) continue;
    if (actions.has(name) || (typeof value === 'function' && rule !== FUNCTION)) continue;
    throw new ImproperlyConfigured(
      `${view.name}: nothing reads "${name}" in the class; it is an option: ModelViewSet(${entity}, { ${option}: … })`,
    );
  }
}
