import type { Feature } from '../../view/setup/feature.ts';
import type { PluggedOption } from '../../view/setup/features.ts';
import type { Option } from '../../view/setup/model-viewset-options.ts';
import { HISTORY_RULE, type HistoryOption, type HistoryPlugin, RecordHistory } from './record-history.ts';

declare module '../../view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    /**
     * True: each write of the view stores who wrote what and when, in its transaction, and `GET …/:pk/history` lists it.
     * `{ at: true }` adds `GET …/:pk?at=2026-01-01`, `{ revert: true }` adds `POST …/:pk/revert`. Needs a plugin, such as
     * `history` of `@viewset/history`. Default: false.
     *
     * @example
     * class KnownViewSet extends ModelViewSet(Product, { read, write, history: { at: true } }) {}
     * // GET /products/7/history, GET /products/7?at=2026-01-01
     */
    readonly history?: HistoryOption;
  }
}

declare module '../../view/model-viewset.ts' {
  interface DeclaredFeatures<Entity, Options> {
    /** The option `history`; never if the view has none. */
    readonly history: Option<Options, 'history'>;
  }
}

/** The option `history`, before a plugin brings its feature. */
export const HISTORY: PluggedOption = {
  option: 'history',
  rule: HISTORY_RULE,
  needs: 'keeps it; register one between viewset and the router, such as history of @viewset/history',
};

/**
 * Makes the feature of the option `history`: each write of a view is recorded in its transaction, and stored by the
 * plugin. `history` of `@viewset/history` adds it.
 *
 * A view is refused with ImproperlyConfigured if its overrides may hide what a history would show, or pass by it.
 */
export function historyFeature(plugin: HistoryPlugin): Feature<HistoryOption> {
  return {
    option: HISTORY.option,
    rule: HISTORY_RULE,
    resolve: (view, option) => {
      if (option === false) return {};
      const history = new RecordHistory(view, option, plugin);
      return {
        actions: history.actions,
        parameters: { retrieve: history.parameters },
        recorder: (request) => history.recorder(request),
        around: {
          retrieve: async (request, _reply, next) => {
            const at = history.timeOf(request);
            if (at === undefined) return next();
            const entity = await view.getObject(request);
            return history.recordAt(request, view.outputs.of(request, 'retrieve'), entity, at);
          },
        },
      };
    },
  };
}
