import { Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { QueryParameters } from '../../http/parameters.ts';
import type { Option } from '../../view/setup/model-viewset-options.ts';
import type { DeclaredRoute, OperationHandler, OperationMethod } from '../../view/setup/declared-route.ts';
import type { Feature, FeatureView } from '../../view/setup/feature.ts';
import type { BodyRefusal } from '../../view/setup/operation-schemas.ts';
import { fillingDeferred } from '../../view/request/deferred-records.ts';
import { oneBody } from '../../view/request/read-input.ts';
import { inputOf } from '../../view/request/request-state.ts';
import {
  type InputOperation,
  isOutputOperation,
  OPERATION,
  type WriteOperation,
  WRITES,
} from '../../view/request/operation.ts';
import { Bulk, BULK_RULE, type BulkOption } from './bulk.ts';
import { BulkOperations } from './bulk-operations.ts';

declare module '../../view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    /**
     * The maximum number of records that one request can write: by POST of an array, PATCH of an array of objects with
     * their keys, or `DELETE …?pk=1,2,3`. Either all are written or none. Set one number for all operations of the view,
     * or `{ create, update, destroy }` for some. Default: none, so a request writes one record.
     */
    readonly bulk?: BulkOption;
  }
}

declare module '../../view/model-viewset.ts' {
  interface DeclaredFeatures<Entity, Options> {
    /** The operations that accept several records at once. */
    readonly bulk: BulkOf<Option<Options, 'bulk'>>;
  }
}

type BulkOf<Value> = Value extends number ? WriteOperation : keyof Value;

/** The methods on the collection that write several records. */
const METHODS: Readonly<Record<WriteOperation, OperationMethod>> = {
  create: 'POST',
  update: 'PATCH',
  destroy: 'DELETE',
};

/** The option `bulk`: requests that write several records, all or none. A POST on the collection takes arrays too. */
export const BULK: Feature<BulkOption> = {
  option: 'bulk',
  rule: BULK_RULE,
  resolve: (view, option) => {
    const { name, key, view: handlers } = view;
    if (key.singleton !== undefined) {
      throw new ImproperlyConfigured(
        `${name}: option "bulk" does not fit "singleton", a view of one record without a key`,
      );
    }
    const bulk = new Bulk(view, option);
    const operations = new BulkOperations(handlers, view, bulk);
    const takesArrays = ({ action, variant }: DeclaredRoute): boolean =>
      action === 'create' && variant === undefined && bulk.limit('create') !== undefined;
    return {
      several: {
        create: (request, reply) => operations.create(request, reply),
        update: (request) => operations.update(request),
        destroy: (request, reply) => operations.destroy(request, reply),
      },
      extend: (route) => (takesArrays(route) ? withArrays(route, view, bulk) : route),
      routes: () =>
        WRITES.filter((operation) => bulk.limit(operation) !== undefined).map((operation) =>
          routeOf(operation, view, bulk),
        ),
    };
  },
};

/**
 * Makes the route that writes several records. An operation in documents has one kind of body and response, so the POST
 * of an array has a path of its own there.
 */
function routeOf(operation: WriteOperation, view: FeatureView, bulk: Bulk): DeclaredRoute {
  const { overrides, outputs, format } = view;
  const variant = operation === 'create' ? 'bulk' : undefined;
  const isBuiltIn = !overrides.handlesSeveral[operation];
  return {
    action: operation,
    method: METHODS[operation],
    detail: false,
    suffix: variant === undefined ? '' : `.${variant}`,
    variant,
    urlName: variant ?? 'list',
    permissionsOf: operation,
    ...(isOutputOperation(operation)
      ? {
          ...schemasOf(operation, view, bulk),
          recordsAs: operation,
          outputParameters: outputs.parametersOf(operation),
          recordsMember: format.many,
        }
      : ofDeletion(view, bulk)),
    isCommaSeparated: true,
    namesRecords: OPERATION[operation].detail,
    transaction: isBuiltIn,
    isBuiltIn,
    transactionReasons: () => (overrides.reachesSeveral(operation) ? ['it writes several records'] : []),
    handler: handlerOf(operation, view),
    proof: 'none',
  };
}

function handlerOf(operation: WriteOperation, { view, overrides }: FeatureView): OperationHandler {
  const handler = view[`${operation}Many`].bind(view);
  return overrides.handlesSeveral[operation] ? fillingDeferred(handler) : handler;
}

type RouteSchemas = Pick<
  DeclaredRoute,
  'options' | 'documented' | 'readShapes' | 'writeShapes' | 'readBody' | 'refuseBody' | 'schemaFor'
>;

function schemasOf(operation: InputOperation, view: FeatureView, bulk: Bulk): RouteSchemas {
  const { schemas, format, outputs, input } = view;
  const { response, ...shown } = schemas.responsesWith(operation, (record) => format.schemaOfMany(record));
  return {
    ...shown,
    options: { body: format.bodyOfMany(bulk.documented(operation)), responses: response },
    writeShapes: input!.choicesFor(operation).map((choice) => choice.name),
    readBody: schemas.reading({ one: false, several: true }, (request, body) => bulk.read(request, body, operation)),
    refuseBody: refusalOf(operation, view),
    schemaFor: (request) => format.schemaOfMany(outputs.of(request, operation).schema),
  };
}

function ofDeletion({ key }: FeatureView, bulk: Bulk): Pick<DeclaredRoute, 'options' | 'validateQuery'> {
  const maxItems = bulk.limit('destroy')!;
  const options = { minItems: 1, maxItems, uniqueItems: true, description: 'The records to delete' };
  return {
    options: {
      querystring: Type.Object({ pk: Type.Array(key.schema, options) }),
      responses: { [OPERATION.destroy.status]: null },
    },
    validateQuery: (_query: unknown, parameters: QueryParameters) => ({
      pk: bulk.keysOf(parameters, (text) => key.parse(text)),
    }),
  };
}

/** Makes the operation `create` accept an array of bodies as well. */
function withArrays(route: DeclaredRoute, view: FeatureView, bulk: Bulk): DeclaredRoute {
  const { name, overrides, format, outputs, input, schemas } = view;
  const createMany = handlerOf('create', view);
  const refuseArray = refusalOf('create', view);
  const { refuseBody: refuseOne, schemaFor: schemaOfOne } = route;
  return {
    ...route,
    // The response to an array has another schema, so each response is serialized by its own.
    documented: route.documented ?? route.options.responses,
    readBody: schemas.reading({ one: true, several: true }, (request, body, isSeveral) =>
      isSeveral ? bulk.read(request, body, 'create') : oneBody(input!.read(request, body, 'create')),
    ),
    refuseBody: async (request) =>
      Array.isArray(inputOf(request).value) ? refuseArray(request) : refuseOne?.(request),
    schemaFor: (request) =>
      Array.isArray(request.body) ? format.schemaOfMany(outputs.of(request, 'create').schema) : schemaOfOne?.(request),
    transactionReasons: () => [
      ...route.transactionReasons(),
      ...(overrides.reachesSeveral('create') ? [`${name} creates several at once ("bulk")`] : []),
    ],
    handler: (request, reply) =>
      Array.isArray(request.body) ? createMany(request, reply) : route.handler(request, reply),
  };
}

/**
 * Makes the check that rejects faulty bodies before an override gets them, and arrays that are faulty themselves, for
 * example by a duplicate key.
 */
function refusalOf(operation: InputOperation, { resolution, overrides }: FeatureView): BodyRefusal {
  const isOverridden = overrides.handlesSeveral[operation];
  return async (request) => {
    if (isOverridden || inputOf(request).faults.length > 0) await resolution.throwBodyErrors(request, operation);
  };
}
