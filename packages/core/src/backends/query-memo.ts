import type { Query } from '../query/language/query.ts';

/** Caches a value for a query and its columns, for as long as both exist. */
export class QueryMemo<Value> {
  readonly #byQuery = new WeakMap<Query, WeakMap<object, Value>>();

  get(query: Query, columns: object, make: () => Value): Value {
    let ofQuery = this.#byQuery.get(query);
    if (ofQuery === undefined) this.#byQuery.set(query, (ofQuery = new WeakMap<object, Value>()));
    let value = ofQuery.get(columns);
    if (value === undefined) ofQuery.set(columns, (value = make()));
    return value;
  }
}
