import type { EntityName } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import type { Lookup, OperandOf, Operands } from '../query/language/lookup.ts';
import type { LookupValue } from '../query/language/lookup-name.ts';
import type { PrimaryKeyName } from '../mikro/entities.ts';
import { checkValues, requireOptions, wrongOption } from '../errors/options.ts';
import type { PageNumberPagination } from '../pagination/counted-pagination.ts';
import type { ReadOutput } from '../shapes/read/read-shape.ts';
import type { RelatedValue } from '../shapes/read/related-value.ts';
import type { PropertyValue, ToWire } from '../shapes/wire-value.ts';
import type { JsonValue } from '../filters/json-value.ts';
import type { KeepingFiles, SentBody, UpdateBody } from '../shapes/write/write-input.ts';
import { ModelViewSetBase, type ViewTypes } from './model-viewset-base.ts';
import {
  type AnyModelOptions,
  type DependentOptions,
  type ExtraOf,
  type InputOf,
  type ItemOf,
  type KeyOf,
  MODEL_VIEWSET_RULES,
  type ModelViewSetOptions,
  type OperationOf,
  type Option,
  type OutputOf,
  type UpdateInputOf,
  type WithExtra,
} from './setup/model-viewset-options.ts';
import type { AlternativeName, ShapesOf } from './request/named-shapes.ts';
import { type OutputOperation, OPERATION, type Operation, OPERATIONS, type UpdateMethod } from './request/operation.ts';

/**
 * The options that decide the types of hooks. Only these are part of the base class's name, which messages and hovers
 * show.
 */
type ShapeOption = 'read' | 'write' | 'extra';

/** The types of a view's hooks, looked up in the options by key. */
export interface TypesOf<Options> extends ViewTypes {
  readonly outputs: { readonly [Name in OutputOperation]: RecordOf<Option<Options, 'read'>, Name> };
  readonly createData: InputOf<Option<Options, 'write'>>;
  readonly updateData: UpdateInputOf<Option<Options, 'write'>>;
  readonly extra: ExtraOf<Option<Options, 'extra'>>;
  readonly readShapeName: AlternativeName<Option<Options, 'read'>>;
  readonly writeShapeName: AlternativeName<Option<Options, 'write'>>;
}

/** The record that an operation returns: in its own shape, or in one that `readShapeFor` may choose. */
type RecordOf<Read, Name extends OutputOperation> =
  ShapesOf<Read, Name> extends infer Shape ? (OutputOf<Shape> extends infer Sent extends object ? Sent : never) : never;

type UpdateOf<Options, Mode extends 'replace' | 'change'> = WithExtra<
  KeepingFiles<SentBody<UpdateBody<UpdateInputOf<Option<Options, 'write'>>, Mode>>>,
  Option<Options, 'extra'>
>;

/** The options of features that decide the requests and responses of a client. Each feature adds its own by merging. */
// oxlint-disable-next-line no-unused-vars -- every declaration of an interface has the same parameters
export interface DeclaredFeatures<Entity, Options> {}

/** The options of a view that decide the requests and responses of a client, looked up by key. */
export interface DeclaredView<Entity, Options> extends DeclaredFeatures<Entity, Options> {
  readonly outputs: TypesOf<Options>['outputs'];
  /** The fields that `expand` adds. */
  readonly expandable: ReadOutput<Entity, never, Or<Option<Options, 'expand'>, Record<never, never>>>;
  /** True if clients can select fields with `fields`. */
  readonly fields: Or<Option<Options, 'fields'>, 'expand' extends keyof Options ? true : false>;
  readonly operations: OperationOf<Options>;
  /** True if the request alone determines the record, so that calls pass no key. */
  readonly singleton: 'singleton' extends keyof Options ? true : false;
  /** The methods of `update`. */
  readonly updateMethods: Or<ItemOf<Option<Options, 'updateMethods'>>, UpdateMethod>;
  readonly input: WithExtra<SentBody<InputOf<Option<Options, 'write'>>>, Option<Options, 'extra'>>;
  /** The body of PUT. */
  readonly update: UpdateOf<Options, 'replace'>;
  /** The body of PATCH. */
  readonly change: Partial<UpdateOf<Options, 'change'>>;
  /** The key of a record in requests that change several. */
  readonly key: NamedBy<Entity, Or<Option<Options, 'lookupField'>, PrimaryKeyName<Entity>>>;
  readonly search: SearchOf<Option<Options, 'searchFields'>>;
  readonly filterFields: Or<Option<Options, 'filterFields'>, Record<never, never>>;
  readonly filterValues: FilterValues<Entity, Or<Option<Options, 'filterFields'>, Record<never, never>>>;
  readonly jsonLogicFields: LogicNameOf<ItemOf<Option<Options, 'jsonLogicFields'>>>;
  readonly sort: 'orderingFields' extends keyof Options ? keyof Options['orderingFields'] : never;
  readonly filters: ItemOf<Option<Options, 'filters'>>;
  readonly pagination: Or<Option<Options, 'pagination'>, typeof PageNumberPagination>;
  readonly count: Option<Options, 'count'>;
}

/** The name of a field in JSON Logic. */
type LogicNameOf<Field> = Field extends JsonValue<never, unknown, infer Name> ? Name : Field;

/** The value of an option, or a default if the view does not have the option. */
export type Or<Value, Default> = [Value] extends [never] ? Default : Value;

/** The fields of a search. For a search that is not a list of fields, any string. */
type SearchOf<Search> = Search extends readonly (infer Field)[] ? Field : Search extends object ? string : never;

type NamedBy<Entity, Name> = {
  readonly [Field in Name & keyof Entity]: ToWire<PropertyValue<Entity, Field>>;
};

type FilterValues<Entity, Filters> = {
  readonly [Parameter in keyof Filters]: Filters[Parameter] extends string
    ? LookupValue<Entity, Filters[Parameter]>
    : ValueOf<Filters[Parameter]>;
};

/** The value of a filter by related records, or by a value in JSON. */
type ValueOf<Filter> = Filter extends RelatedValue<never, infer Value> | JsonValue<never, infer Value>
  ? Value
  : Filter extends readonly [
        RelatedValue<never, infer Value> | JsonValue<never, infer Value>,
        infer Named extends Lookup,
      ]
    ? Operands<Value>[OperandOf<Named>]
    : never;

/** Rejects a view class whose `represent` adds fields that its read shape does not declare: they would not be sent. */
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

/** The class that `ModelViewSet()` returns for you to extend. */
export interface ModelViewSetClass<Entity extends object, Options> {
  new (): ModelViewSetBase<Entity, TypesOf<{ [Name in keyof Options as Name & ShapeOption]: Options[Name] }>>;
  /** Only for the types: the entity of the view. */
  readonly '~entity'?: (entity: Entity) => Entity;
  /** Only for the types of clients: the declarations that decide the requests and responses of the view. */
  readonly '~declared'?: DeclaredView<Entity, Options>;
}

/**
 * The type of the parameter `options`. The compiler infers `Options` from the first branch, and checks the argument
 * against the second one. A wrong option is then an error at that option, with a short message. The view keeps the
 * types of its other options.
 */
type CheckedOptions<Entity extends object, Options> = unknown extends Options
  ? { readonly [Name in keyof Options]: Options[Name] }
  : ModelViewSetOptions<Entity> & NoInfer<DependentOptions<Entity, Options>>;

/** A type that nothing is inferred from. Unlike `NoInfer<Book>`, compiler messages show it as `Book`. */
type Given<Type extends object> = [Type][Type extends unknown ? 0 : never];

/**
 * Makes a view class for the records of an entity. Extend the result. The options decide routes, validation, serialization, filters, pages
 * and permissions. Misspelt names do not compile. In JavaScript they throw ImproperlyConfigured at registration.
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
export function ModelViewSet<Entity extends object, const Options extends object>(
  entity: EntityName<Entity>,
  options: CheckedOptions<Given<Entity>, Options>,
): ModelViewSetClass<Entity, Options> {
  return makeViewClass(entity, options as unknown as AnyModelOptions);
}

function makeViewClass<Entity extends object, Options>(
  entity: EntityName<Entity>,
  options: AnyModelOptions,
): new () => ModelViewSetBase<Entity, TypesOf<Options>> {
  const owner = `ModelViewSet(${nameOf(entity)})`;
  requireOptions(owner, options);
  checkValues(owner, options, MODEL_VIEWSET_RULES);
  checkOperations(owner, options.operations, options.write !== undefined);
  if (options.singleton !== undefined) checkSingleton(owner, options);
  return class extends ModelViewSetBase<Entity, TypesOf<Options>> {
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
    if (!writable && OPERATION[operation].takesRecord) {
      throw new ImproperlyConfigured(`${owner}: operation "${operation}" needs the option "write"`);
    }
  }
}

/** @throws ImproperlyConfigured for options that need several records, or the key of a record */
function checkSingleton(owner: string, { operations, lookupField }: AnyModelOptions): void {
  const problem = operations?.includes('list')
    ? 'operation "list"'
    : lookupField !== undefined && 'option "lookupField"';
  if (problem === false) return;
  throw new ImproperlyConfigured(`${owner}: ${problem} does not fit "singleton", a view of one record without a key`);
}
