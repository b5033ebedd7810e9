import { ImproperlyConfigured } from '../../errors.ts';
import type { SendLiveList } from '../../live/live-list.ts';
import type { WriteListener } from '../writes/write-listener.ts';
import type { HistoryPlugin } from './record-history.ts';

/** Sends live lists. `live` of `@viewset/live` implements it. */
export interface LivePlugin {
  /** Gets the writes of views with the option `live`. */
  readonly listener: WriteListener;
  /** Responds to a list request with a stream. */
  readonly send: SendLiveList;
}

/** The objects that plugins provide for options of views, by option. */
export interface Provided {
  /** Gets the events of views. */
  readonly emits: WriteListener;
  /** Stores the history of records. */
  readonly history: HistoryPlugin;
  /** Sends lists as they change. */
  readonly live: LivePlugin;
}

const PLUGINS: Readonly<Record<keyof Provided, string>> = {
  emits: 'takes the events; register one between viewset and the router, such as outbox of @viewset/outbox',
  history: 'keeps it; register one between viewset and the router, such as history of @viewset/history',
  live: 'sends live lists; register one between viewset and the router, such as live of @viewset/live',
};

/** The options of views that need a plugin, with the objects that plugins provide. */
export class Providers {
  readonly #provided = new Map<string, unknown>();

  /** @throws ImproperlyConfigured if another plugin serves the option already */
  readonly provide = <Option extends keyof Provided>(option: Option, provided: Provided[Option]): void => {
    const present = this.#provided.get(option);
    if (present !== undefined && present !== provided) {
      throw new ImproperlyConfigured(
        `viewset: two plugins serve the option "${option}" of views; register one of them`,
      );
    }
    this.#provided.set(option, provided);
  };

  /** @throws ImproperlyConfigured if no plugin serves the option */
  needed<Option extends keyof Provided>(option: Option, view: string): Provided[Option] {
    const provided = this.#provided.get(option);
    if (provided !== undefined) return provided as Provided[Option];
    throw new ImproperlyConfigured(`${view}: option "${option}" needs a plugin that ${PLUGINS[option]}`);
  }
}
