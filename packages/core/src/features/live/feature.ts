import type { FastifyReply, FastifyRequest } from 'fastify';
import { AsyncLocalStorage } from 'node:async_hooks';
import { permissionDenied } from '../../http/current-user.ts';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { OptionRule } from '../../errors/options.ts';
import { evaluatePermissions } from '../../permissions/evaluate.ts';
import { slicedError } from '../../query/queryset.ts';
import { namesShowing } from '../../shapes/read/read-shape.ts';
import { isWrite, requireOperation, WRITES } from '../../view/request/operation.ts';
import { repeatRequest } from '../../view/request/request-for.ts';
import { stateOf } from '../../view/request/request-state.ts';
import { type Feature, type FeatureView, type ListRepresentation, STEPS } from '../../view/setup/feature.ts';
import type { PluggedOption } from '../../view/setup/features.ts';
import type { ShownRecords } from '../../view/records/shown-records.ts';
import type { WriteListener } from '../../view/write/write-listener.ts';
import { type ListForm, ListQuestion } from './list-question.ts';
import { type LiveOption, type SendLiveList, STREAM_TYPE } from './live-list.ts';

declare module '../../view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    /**
     * True: clients can follow lists as they change, by `Accept: text/event-stream` on the URL of the list. `'writes'`:
     * clients cannot, but writes of this view update the live lists of other views of the entity. False: neither.
     *
     * Needs a plugin, such as `live` of `@viewset/live`. Default: false. If another view of the entity is live and this
     * view writes, you must set the option.
     */
    readonly live?: LiveOption;
  }
}

/** Sends live lists. `live` of `@viewset/live` implements it. */
export interface LivePlugin {
  /** Gets the writes of views with the option `live`. */
  readonly listener: WriteListener;
  /** Responds to a list request with a stream. */
  readonly send: SendLiveList;
}

const RULE: OptionRule = ['true, false or "writes"', (value) => typeof value === 'boolean' || value === 'writes'];

/** The option `live`, before a plugin brings its feature. */
export const LIVE: PluggedOption = {
  option: 'live',
  rule: RULE,
  needs: 'sends live lists; register one between viewset and the router, such as live of @viewset/live',
};

/**
 * Makes the feature of the option `live`: clients follow the lists of a view by `Accept: text/event-stream`, and the
 * view's writes reach the plugin in their transaction. `live` of `@viewset/live` adds it.
 *
 * A view is refused with ImproperlyConfigured if a stream would show what an override hides, or if writes to its entity
 * would not reach the lists.
 */
export function liveFeature(plugin: LivePlugin): Feature<LiveOption> {
  return {
    option: LIVE.option,
    rule: RULE,
    resolve: (view, option) => {
      if (option === false) return {};
      // A restored record counts as an update, even in a view without the operation.
      const listeners = Object.fromEntries(WRITES.map((operation) => [operation, plugin.listener]));
      if (option === 'writes') return { listeners };
      checkView(view);
      return {
        listeners,
        representations: [streamOf(view, plugin)],
        findViews: (registered) => {
          for (const shown of registered) checkWriter(view, shown);
        },
      };
    },
  };
}

/**
 * @throws ImproperlyConfigured for a view without lists; for a view that overrides `list`, because a stream would not
 * use the override; and for lists that hide the keys of records, because events contain them
 */
function checkView({ name, operations, overrides, key: { column }, outputs, lists }: FeatureView): void {
  requireOperation(`${name}: option "live"`, 'list', operations, "; use live: 'writes' if only its writes matter");
  const hiding = outputs.choicesFor('list').find(({ shape }) => namesShowing(shape, column.key).length === 0);
  if (hiding !== undefined) {
    throw new ImproperlyConfigured(
      `${name}: option "live" needs "${column.key}" in each read shape of the list, because events contain the keys of records`,
    );
  }
  const maker = overrides.listMaker(lists.isPaged);
  if (maker === undefined) return;
  throw new ImproperlyConfigured(
    `${name}: option "live" would send what the override of ${maker}() may hide; override getQueryset() or filterQueryset() instead`,
  );
}

/**
 * @throws ImproperlyConfigured for another view of the entity that writes and does not set `live`: its writes would not
 * reach the live lists of this view
 */
function checkWriter({ name, meta: { root } }: FeatureView, { view, definition }: ShownRecords): void {
  const { meta, operations, options } = definition;
  const written = operations.find(isWrite);
  if (meta.root.class !== root.class || written === undefined || options[LIVE.option] !== undefined) return;
  throw new ImproperlyConfigured(
    `${view.name}: its ${written} would not reach the lists of ${name}, which are live. Set live: 'writes', or live: false if those lists need not show it`,
  );
}

/** Sends the list of a view as a stream of its changes. */
function streamOf(view: FeatureView, { send }: LivePlugin): ListRepresentation {
  const { name, meta, lists, format } = view;
  const form: ListForm = {
    paginator: lists.paginator,
    schemaOf: (record) => view.schemas.ofList(record),
    wrapList: (records) => format.wrapList(records),
  };
  return {
    type: STREAM_TYPE,
    isLive: true,
    send: (request, reply) => {
      if (request.reader.isInTransaction()) {
        // The stream would lose settings of the transaction, such as the user of row-level security.
        throw new ImproperlyConfigured(
          `${name}: a live list outlasts the transaction that a hook has begun for its request, so it cannot be sent`,
        );
      }
      // Hooks may keep the user or the tenant in the asynchronous context of the request.
      const within = AsyncLocalStorage.snapshot();
      const ask = (): Promise<ListQuestion> => within(() => askAgain(view, form, request, reply));
      return send(request, reply, { entity: meta.root.className, ask });
    },
  };
}

/** Evaluates the list again, like a new request of the same sender. */
async function askAgain(
  { name, view, nesting, outputs, permissions }: FeatureView,
  form: ListForm,
  first: FastifyRequest,
  reply: FastifyReply,
): Promise<ListQuestion> {
  const request = repeatRequest(first);
  for (const identify of first.server.viewset.live.identify) await identify(request);
  const grant = await evaluatePermissions(permissions.of('list'), request, view, { object: false });
  if (grant.denied) throw permissionDenied(request);
  stateOf(request).grant = grant;
  if (outputs.parametersOf('list').length > 0) outputs.select(request, 'list');
  await nesting?.parent.check(request);
  return view[STEPS].list.selected(request, (records) => {
    if (records.isSliced) throw slicedError(name, 'filterQueryset()', 'the paginator');
    return new ListQuestion({ request, reply, records, output: outputs.of(request, 'list'), form });
  });
}
