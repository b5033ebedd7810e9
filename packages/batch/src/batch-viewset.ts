import {
  action,
  checkOptionNames,
  InvalidUsage,
  type PermissionClass,
  type RateLimitRule,
  ViewSet,
  wrongOption,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { MAX_DETAILS } from './batch-failed.ts';
import { faultsOf } from './check-operations.ts';
import { KnownRoutes } from './known-routes.ts';
import { ANSWERS_SCHEMA, type BatchAnswers, batchSchema, FAILED_SCHEMA } from './operation.ts';
import { runBatch } from './run-batch.ts';

/** The options of `BatchViewSet`; every one has a default. */
export interface BatchOptions {
  /** The most operations in a batch. Default: 50. */
  readonly maxOperations?: number;
  /**
   * The largest batch, in bytes. The same limit applies to the values that references insert into one path or body.
   * Default: 1,048,576.
   */
  readonly maxBytes?: number;
  /**
   * The most bytes of the response bodies of all operations together. A short batch may request the same long list many
   * times, and all responses stay in memory until the commit. A larger batch fails with 422. Default: 4,194,304.
   */
  readonly maxResponseBytes?: number;
  /** Who may send batches. Each operation also checks its own permissions. Default: everybody. */
  readonly permissionClasses?: readonly PermissionClass[];
  /** Rules that limit batches, besides the plugin's. Default: none. */
  readonly throttles?: readonly RateLimitRule[];
}

const DEFAULTS = { maxOperations: 50, maxBytes: 1_048_576, maxResponseBytes: 4_194_304 };
const OPTIONS = [...(Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]), 'permissionClasses', 'throttles'] as const;

/**
 * Makes a view that takes several operations in one request and runs them in one transaction: all are stored, or none.
 * Register it beside the views whose operations it runs. The paths of operations are relative to the parent of the
 * batch's own path.
 *
 * Each operation is a request to its own route. It passes the same authentication, throttles, permissions, checks and
 * hooks.
 *
 * @throws ImproperlyConfigured for a wrong option
 * @example
 * class Batch extends BatchViewSet({ maxOperations: 20 }) {}
 * router.register('batch', Batch);
 * // POST /api/batch {"operations":[{"id":"a","method":"POST","path":"/books","body":{"title":"Ash"}}]}
 * // 200 {"answers":[{"id":"a","status":201,"headers":{"location":"/api/books/7"},"body":{"id":7,"title":"Ash"}}]}
 */
export function BatchViewSet(options: BatchOptions = {}): new () => ViewSet {
  checkOptionNames('BatchViewSet', options, OPTIONS);
  const { permissionClasses, throttles = [] } = options;
  const maxOperations = limit(options, 'maxOperations');
  const maxBytes = limit(options, 'maxBytes');
  const maxResponseBytes = limit(options, 'maxResponseBytes');

  return class ReadyBatchViewSet extends ViewSet {
    override permissionClasses = permissionClasses ?? [];
    override allowAnonymous = permissionClasses === undefined ? true : undefined;
    override throttles = throttles;

    run = action(
      {
        methods: ['post'],
        urlPath: '/',
        body: batchSchema(maxOperations),
        bodyLimit: maxBytes,
        responses: { 200: ANSWERS_SCHEMA, 422: FAILED_SCHEMA },
        summary: 'Run several operations in one transaction',
        description: 'All operations are stored, or none. The responses have the order of the operations.',
      },
      async (request): Promise<BatchAnswers> => {
        const routes = KnownRoutes.of(request.server.viewset.operations);
        const { operations } = request.body;
        const base = baseOf(request);
        const faults = faultsOf(operations, { base, routes });
        if (faults.length > 0) {
          const details = faults.slice(0, MAX_DETAILS).map((fault) => ({ in: 'body' as const, ...fault }));
          throw new InvalidUsage(`Invalid batch: ${details[0]!.path} ${details[0]!.message}`, { details });
        }
        return { answers: await runBatch({ request, operations, base, maxBytes, maxResponseBytes }) };
      },
    );
  };
}

/** Returns the parent of the batch's own path, which is the base of operation paths. */
function baseOf({ url }: FastifyRequest): string {
  const path = url.split('?')[0]!.replace(/\/$/, '');
  return path.slice(0, path.lastIndexOf('/'));
}

function limit(options: BatchOptions, name: keyof typeof DEFAULTS): number {
  const value: unknown = options[name] ?? DEFAULTS[name];
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  throw wrongOption('BatchViewSet', name, 'a whole number above 0', value);
}
