import type { EntityName } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import type { LookupField } from '../fields/field-name.ts';
import type { FilterClass } from '../filters/filter.ts';
import type { LookupValue } from '../language/lookup-name.ts';
import type { Counting } from '../language/query.ts';
import type { PrimaryKeyName } from '../mikro/entities.ts';
import { checkOptions, wrongOption } from '../options.ts';
import type { PageNumberPagination } from '../pagination/counted-pagination.ts';
import type { PaginatorClass } from '../pagination/paginator.ts';
import type { ExtraFields, ReadOutput } from '../shapes/read-shape.ts';
import type { ObjectSchema } from '../shapes/schema-object.ts';
import type { PropertyValue, ToWire } from '../shapes/wire-value.ts';
import type { BulkOption } from './bulk.ts';
import type { ExportFormat } from './list-export.ts';
import { type Answered, ModelViewSetBase } from './model-viewset-base.ts';
import {
  type AnyModelOptions,
  type ExtraOf,
  type FilterFields,
  type InputOf,
  type JsonLogicField,
  type KeyOf,
  MODEL_VIEWSET_RULES,
  type ModelViewSetOptions,
  type OutputOf,
  type ReadOption,
  type SearchField,
  type UpdateInputOf,
  type WithExtra,
  type WriteOption,
} from './model-viewset-options.ts';
import type { AlternativeName, OneShape } from './read-shapes.ts';
import type { AnsweringOperation } from './answer.ts';
import { type BulkOperation, type Operation, OPERATIONS } from './view-definition.ts';

/** The record that an operation answers with: of its own shape, or of one that `readShapeFor` may choose. */
type AnswerOf<Read, Name extends AnsweringOperation> = Read extends OneShape
  ? OutputOf<Read>
  :
      | OutputOf<Read[(Name extends keyof Read ? Name : 'default') & keyof Read]>
      | OutputOf<Read[AlternativeName<Read> & keyof Read]>;

/** The records that each operation answers with. */
type AnsweredBy<Read> = { readonly [Name in AnsweringOperation]: AnswerOf<Read, Name> & object };

/** The declarations of a view's answers that clients need. */
type AnswersBy<Entity, Read, Expand, Fields> = {
  readonly outputs: { readonly [Name in AnsweringOperation]: AnswerOf<Read, Name> };
  /** The fields that `expand` adds. */
  readonly expandable: ReadOutput<Entity, never, Expand>;
  /** True if clients leave fields out by `fields`. */
  readonly fields: Fields;
};

/** The declarations of a view's operations and their bodies that clients need. */
type OperationsBy<Entity, Offered, Write, Extra, Bulk, Lookup> = {
  readonly operations: Offered;
  readonly input: WithExtra<InputOf<Write>, Extra>;
  readonly update: WithExtra<UpdateInputOf<Write>, Extra>;
  /** The operations that can be done to several records at once. */
  readonly bulk: Bulk extends number ? BulkOperation : keyof Bulk;
  /** The part of a record that names it among several. */
  readonly key: NamedBy<Entity, [Lookup] extends [never] ? PrimaryKeyName<Entity> : Lookup>;
};

type NamedBy<Entity, Name> = {
  readonly [Field in Name & keyof Entity]: ToWire<PropertyValue<Entity, Field>>;
};

/** The declarations of a view's lists that clients need. */
type ListsBy<Entity, Search, Filters, Logic, Sort, Classes, Pages, Count> = {
  readonly search: Search;
  readonly filterFields: Filters;
  readonly filterValues: { readonly [Parameter in keyof Filters]: LookupValue<Entity, Filters[Parameter] & string> };
  readonly jsonLogicFields: Logic;
  readonly sort: Sort;
  readonly filters: Classes;
  readonly pagination: Pages;
  readonly count: Count;
};

/** Fits no view class whose `represent` adds fields that its read shape does not declare: they would not be sent. */
export type SendsAll<View> = View extends {
  new (): { represent(entity: never): infer Sent };
  readonly '~declared'?: { readonly outputs: infer Outputs; readonly expandable: infer Added };
}
  ? [Exclude<KeyOf<Sent>, KeyOf<Outputs[keyof Outputs]> | keyof Added>] extends [never]
    ? unknown
    : {
        readonly 'not in the read shape, so never sent': Exclude<
          KeyOf<Sent>,
          KeyOf<Outputs[keyof Outputs]> | keyof Added
        >;
      }
  : unknown;

/** The class that `ModelViewSet()` returns, to be extended. */
export interface ModelViewSetClass<
  Entity extends object,
  Outputs extends Answered,
  Input extends object,
  Declared = unknown,
  Alternative extends string = never,
  Changes extends object = Input,
  Extra extends object = object,
> {
  new (): ModelViewSetBase<Entity, Outputs, Input, Alternative, Changes, Extra>;
  /** Only for the types: the entity of the view. */
  readonly '~entity'?: (entity: Entity) => Entity;
  /** Only for the types of clients: the declarations from which the requests and answers of the view follow. */
  readonly '~declared'?: Declared;
}

/**
 * A view class for the records of an entity, to be extended: routes, validation, serialization, filters, pages and
 * permissions follow from the options. Misspelt names do not compile, and throw ImproperlyConfigured at registration
 * for those who write JavaScript.
 *
 * @example
 * class ProductViewSet extends ModelViewSet(Product, {
 *   read: readShape(Product, ['id', 'name', 'price']),
 *   write: writeShape(Product, ['name', 'price']),
 *   searchFields: ['name'],
 *   filterFields: { min_price: 'price__gte' },
 *   orderingFields: { price: 'price' },
 * }) {}
 */
export function ModelViewSet<
  Entity extends object,
  Read extends ReadOption<NoInfer<Entity>>,
  Write extends WriteOption<NoInfer<Entity>> = never,
  Offered extends Operation = [Write] extends [never] ? 'list' | 'retrieve' : Operation,
  Search extends SearchField<NoInfer<Entity>> = never,
  Filters extends FilterFields<NoInfer<Entity>> = Record<never, never>,
  Logic extends JsonLogicField<NoInfer<Entity>> = never,
  Sort extends string = never,
  Classes extends FilterClass = never,
  Pages extends PaginatorClass | null = typeof PageNumberPagination,
  Count extends Counting = never,
  Extra extends ObjectSchema = never,
  const Expand extends ExtraFields<NoInfer<Entity>, keyof Expand> = Record<never, never>,
  Fields extends boolean = [keyof Expand] extends [never] ? false : true,
  Bulk extends BulkOption = never,
  Lookup extends LookupField<NoInfer<Entity>> = never,
  Exports extends ExportFormat = never,
>(
  entity: EntityName<Entity>,
  options: ModelViewSetOptions<
    NoInfer<Entity>,
    Read,
    Write,
    Offered,
    Search,
    Filters,
    Logic,
    Sort,
    Classes,
    Pages,
    Count,
    Extra,
    Expand,
    Fields,
    Bulk,
    Lookup,
    Exports
  >,
): ModelViewSetClass<
  Entity,
  AnsweredBy<Read>,
  InputOf<Write> & object,
  AnswersBy<Entity, Read, Expand, Fields> &
    OperationsBy<Entity, Offered, Write, Extra, Bulk, Lookup> &
    ListsBy<Entity, Search, Filters, Logic, Sort, Classes, Pages, Count> & { readonly exports: Exports },
  AlternativeName<Read>,
  UpdateInputOf<Write> & object,
  ExtraOf<Extra> & object
> {
  return makeViewClass(entity, options as unknown as AnyModelOptions);
}

function makeViewClass<
  Entity extends object,
  Outputs extends Answered,
  Input extends object,
  Alternative extends string,
  Changes extends object,
  Extra extends object,
>(
  entity: EntityName<Entity>,
  options: AnyModelOptions,
): new () => ModelViewSetBase<Entity, Outputs, Input, Alternative, Changes, Extra> {
  const owner = `ModelViewSet(${nameOf(entity)})`;
  checkOptions(owner, options, MODEL_VIEWSET_RULES);
  checkOperations(owner, options.operations, options.write !== undefined);
  return class extends ModelViewSetBase<Entity, Outputs, Input, Alternative, Changes, Extra> {
    constructor() {
      super(entity, options);
    }
  };
}

function nameOf(entity: unknown): string {
  const { name } = (entity ?? {}) as { name?: string };
  if (name === undefined) throw wrongOption('ModelViewSet()', 'entity', 'an entity class or schema', entity);
  return name;
}

function checkOperations(owner: string, operations: readonly Operation[] | undefined, writable: boolean): void {
  for (const operation of operations ?? []) {
    if (!OPERATIONS.includes(operation)) {
      throw wrongOption(owner, 'operations', `a list of ${OPERATIONS.join(', ')}`, operation);
    }
    if (!writable && (operation === 'create' || operation === 'update')) {
      throw new ImproperlyConfigured(`${owner}: operation "${operation}" needs the option "write"`);
    }
  }
}
