import type { LookupField, PathOf, RelationName, ToManyName } from '../fields/field-name.ts';
import type { FilterClass } from '../filters/filter.ts';
import { isRecord } from '../json.ts';
import { ANYTHING, BOOLEAN, LIST, type OptionRule, TEXT, TEXTS, TEXTS_BY_NAME } from '../options.ts';
import type { PaginatorClass } from '../pagination/paginator.ts';
import type { PermissionClass } from '../permissions/permission.ts';
import type { Counting } from '../language/query.ts';
import type { LookupName, OrderName } from '../language/lookup-name.ts';
import type { ReadShape } from '../shapes/read-shape.ts';
import type { ObjectSchema } from '../shapes/schema-object.ts';
import type { WritableSchema } from '../shapes/write-input.ts';
import type { WriteShape } from '../shapes/write-shape.ts';
import { RATE_LIMIT_RULES, type RateLimitRule } from '../throttle/rate-limit-rule.ts';
import type { OneShape, ReadShapes } from './read-shapes.ts';
import type { AnsweringOperation } from './answer.ts';
import type { Operation } from './view-definition.ts';
import { DOCUMENTATION_RULES, type ViewDocumentation } from './viewset.ts';

/** A field of text to search: contains; `^name` starts with; `=name` equals. */
export type SearchField<Entity> = TextPath<Entity> | `^${TextPath<Entity>}` | `=${TextPath<Entity>}`;

type TextPath<Entity> = PathOf<Entity, '__', 3, 'text'> | PathOf<Entity, '__', 2, 'text', 'many'>;

/** A field that JSON Logic may name. */
export type JsonLogicField<Entity> = PathOf<Entity, '.'> | PathOf<Entity, '.', 2, 'any', 'many'>;

/** Query parameter → lookup. */
export type FilterFields<Entity> = Readonly<Record<string, LookupName<Entity>>>;

/** A schema written by hand, each of whose properties has to be a property of the entity. */
type OwnNames<Entity, Shape> = Shape extends ObjectSchema ? WritableSchema<Entity, Shape> : unknown;

/** The path of a relation that a body may refer by: its own, or one of its children's, whose names are asked at registration. */
type ReferencePath<Entity> = RelationName<Entity> | `${ToManyName<Entity>}.${string}`;

/** Shapes by name, each of whose schemas names properties of the entity, and each of whose operations has a shape. */
type Fitting<Entity extends object, Read, Offered> = Read extends OneShape
  ? OwnNames<Entity, Read>
  : { readonly [Name in keyof Read]: OwnNames<Entity, Read[Name]> } & ('default' extends keyof Read
      ? unknown
      : {
          readonly [Name in Exclude<Extract<Offered, AnsweringOperation>, keyof Read>]:
            | ReadShape<Entity, object>
            | ObjectSchema;
        });

/** One read shape for every operation, or several by name. */
export type ReadOption<Entity extends object> = ReadShape<Entity, object> | ObjectSchema | ReadShapes<Entity>;

/** The declarations of a ModelViewSet. Only `read` is required; names that do not exist do not compile. */
export interface ModelViewSetOptions<
  Entity extends object,
  Read extends ReadOption<Entity>,
  Write extends WriteShape<Entity, object> | ObjectSchema,
  Offered extends Operation = Operation,
  Search extends SearchField<Entity> = SearchField<Entity>,
  Filters extends FilterFields<Entity> = FilterFields<Entity>,
  Logic extends JsonLogicField<Entity> = JsonLogicField<Entity>,
  Sort extends string = string,
  Classes extends FilterClass = FilterClass,
  Pages extends PaginatorClass | null = PaginatorClass | null,
  Count extends Counting = Counting,
> extends ViewDocumentation {
  /**
   * The records that go out: `readShape(…)`, or a TypeBox object whose properties are the entity's. It decides the columns read.
   * Several by operation: `{ default: whole, list: brief }`, `default` for those that are not named; `readShapeFor` may choose one
   * of any further name.
   */
  readonly read: Read & Fitting<Entity, Read, Offered>;
  /** The bodies of create and update: `writeShape(…)` or a TypeBox object. Left out, the view is read-only. */
  readonly write?: Write & OwnNames<Entity, Write>;
  /**
   * Permission classes, by the field of a body that refers to other records (`tags`, of children `books.tags`): it may lead to
   * no record that they hide from the request. Default: to any that the filters of its entity show, whose existence an answer
   * then tells.
   */
  readonly referencePermissions?: Readonly<Partial<Record<ReferencePath<Entity>, readonly PermissionClass[]>>>;
  /**
   * The field by whose value a record is named in its path, `/books/ash`: a text or a whole number, unique and never NULL.
   * Default: the primary key. The parameter of the path is `pk` all the same.
   */
  readonly lookupField?: LookupField<Entity>;
  /** The operations that get a route. Default: all five with a write shape, list and retrieve without. */
  readonly operations?: readonly Offered[];
  /** Fields that `?search=` looks in. */
  readonly searchFields?: readonly Search[];
  /** Query parameter → lookup: `{ min_price: 'price__gte' }`. */
  readonly filterFields?: Filters;
  /** Fields that `?filter=` (JSON Logic) may name. Default: those that `filterFields` reaches. */
  readonly jsonLogicFields?: readonly Logic[];
  /** Sort name → field: `?sort=-price`. */
  readonly orderingFields?: Readonly<Record<Sort, PathOf<Entity, '__'>>>;
  /** The order of a list whose request names none. Default: the primary key, ascending. */
  readonly ordering?: readonly OrderName<Entity>[];
  /** Filter classes, applied in order. Default: the plugin's, which is `DEFAULT_FILTERS`. */
  readonly filters?: readonly Classes[];
  /** The way to cut lists into pages; null: no pages, a list is a plain array. Default: the plugin's, page numbers. */
  readonly pagination?: Pages;
  /** Records a page if the request names no size. Default: the paginator's, 10. */
  readonly pageSize?: number;
  /** Most records a page, whatever the request names. Default: the paginator's, 100. */
  readonly maxPageSize?: number;
  /** The way to count the records in all: `exact`, `estimated` or `none`. Default: the paginator's, exact. */
  readonly count?: Count;
  /**
   * True: retrieve, create and update answer with an `ETag`, a GET whose `If-None-Match` names it is a 304, and a PUT, PATCH
   * or DELETE whose `If-Match` does not name that of the record is a 412 and writes nothing (RFC 9110, section 13). Default:
   * true if the entity has a version, else false.
   */
  readonly etags?: boolean;
  /** True: a PUT, PATCH or DELETE without `If-Match` is a 428 (RFC 6585, section 3). Default: false. */
  readonly requireIfMatch?: boolean;
  /** See `ViewSet.permissionClasses`. */
  readonly permissionClasses?: readonly PermissionClass[];
  /** See `ViewSet.throttles`. */
  readonly throttles?: readonly RateLimitRule[];
  /** See `ViewSet.ignoreUnknownParameters`. */
  readonly ignoreUnknownParameters?: boolean | readonly string[];
  /** See `ViewSet.allowAnonymous`. */
  readonly allowAnonymous?: boolean;
}

/** The values that the options may have; what fits the entity is judged when the view is registered. */
export const MODEL_VIEWSET_RULES: Readonly<Record<keyof ModelViewSetOptions<object, never, never>, OptionRule>> = {
  read: ANYTHING,
  write: ANYTHING,
  referencePermissions: ['lists of permission classes by field', isRecord],
  lookupField: TEXT,
  operations: LIST,
  searchFields: TEXTS,
  filterFields: TEXTS_BY_NAME,
  jsonLogicFields: TEXTS,
  orderingFields: TEXTS_BY_NAME,
  ordering: TEXTS,
  filters: ANYTHING,
  pagination: ANYTHING,
  pageSize: ANYTHING,
  maxPageSize: ANYTHING,
  count: ANYTHING,
  etags: BOOLEAN,
  requireIfMatch: BOOLEAN,
  permissionClasses: LIST,
  throttles: RATE_LIMIT_RULES,
  ignoreUnknownParameters: ANYTHING,
  allowAnonymous: BOOLEAN,
  ...DOCUMENTATION_RULES,
};
