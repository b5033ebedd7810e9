import type { Query } from '../language/query.ts';

/** Keeps what was made for a query and the columns that it reads, for as long as both are there. */
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
