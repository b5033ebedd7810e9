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

  get(key: string, isShapedByClient: boolean): Statement | undefined {
    return (isShapedByClient ? this.#ofClients : this.#ofViews).get(key);
  }

  keep(key: string, statement: Statement): Statement {
    (statement.isShapedByClient ? this.#ofClients : this.#ofViews).set(key, statement);
    return statement;
  }
}
