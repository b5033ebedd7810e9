import type { Statement } from './dialects/reader.ts';
import { LruMap } from './dialects/lru-map.ts';

const MAX_STATEMENTS = 500;
/** Statements of forms that clients choose, of which there may be endlessly many. */
const MAX_CLIENT_STATEMENTS = 100;

/**
 * The statements of one entity by everything that decides their text. Those that clients shape are kept apart, and fewer:
 * whatever a client asks, it makes the process forget nothing that the views decide.
 */
export class StatementCache {
  readonly #ofViews = new LruMap<string, Statement>(MAX_STATEMENTS);
  readonly #ofClients = new LruMap<string, Statement>(MAX_CLIENT_STATEMENTS);

  get size(): number {
    return this.#ofViews.size + this.#ofClients.size;
  }

  /** The statement of a key, made if it is not known. */
  get(key: string, isShapedByClient: boolean, make: () => Statement): Statement {
    const statements = isShapedByClient ? this.#ofClients : this.#ofViews;
    let statement = statements.get(key);
    if (statement === undefined) statements.set(key, (statement = make()));
    return statement;
  }
}
