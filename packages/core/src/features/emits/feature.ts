import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { OptionRule } from '../../errors/options.ts';
import { OPERATION, type WriteKind, WRITES } from '../../view/request/operation.ts';
import type { Feature } from '../../view/setup/feature.ts';
import type { PluggedOption } from '../../view/setup/features.ts';
import type { WriteListener } from '../../view/write/write-listener.ts';

declare module '../../view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    /**
     * The writes that the view reports to a plugin, within their transactions. For example, `outbox` of `@viewset/outbox`
     * stores an event for each record, such as `book.created`. Default: none.
     */
    readonly emits?: readonly WriteKind[];
  }
}

const KINDS = WRITES.map((operation) => OPERATION[operation].write.kind);

const RULE: OptionRule = [
  `a list of ${KINDS.join(', ')}`,
  Array.isArray,
  ['created, updated or deleted', (item) => KINDS.includes(item as WriteKind)],
];

/** The option `emits`, before a plugin brings its feature. */
export const EMITS: PluggedOption = {
  option: 'emits',
  rule: RULE,
  needs: 'takes the events; register one between viewset and the router, such as outbox of @viewset/outbox',
};

/**
 * Makes the feature of the option `emits`: a listener gets the writes of the kinds that a view names, in their
 * transaction. `outbox` of `@viewset/outbox` adds it.
 *
 * A view is refused with ImproperlyConfigured if it has no operation of a kind, or an override that does not call
 * `super`, so that writes would be missed.
 *
 * @example
 * app.viewset.addFeature(eventsFeature(async (writes) => console.log(writes.length)));
 */
export function eventsFeature(listener: WriteListener): Feature<readonly WriteKind[]> {
  return {
    option: EMITS.option,
    rule: RULE,
    resolve: (view, kinds) => {
      const emitting = WRITES.filter((operation) => kinds.includes(OPERATION[operation].write.kind));
      for (const operation of emitting) {
        if (view.operations.includes(operation)) continue;
        const { kind } = OPERATION[operation].write;
        throw new ImproperlyConfigured(
          `${view.name}: option "emits" has "${kind}", but the view has no operation "${operation}"`,
        );
      }
      return { listeners: Object.fromEntries(emitting.map((operation) => [operation, listener])) };
    },
  };
}
