import { useEffect, useState } from 'preact/hooks';

/** A value that components follow. */
export interface Store<Value> {
  get(): Value;
  set(value: Value): void;
  subscribe(listener: (value: Value) => void): () => void;
}

export function createStore<Value>(initial: Value): Store<Value> {
  let current = initial;
  const listeners = new Set<(value: Value) => void>();
  return {
    get: () => current,
    set: (value) => {
      current = value;
      for (const listener of listeners) listener(value);
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Returns the value of a store, and renders the component anew when it changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [value, setValue] = useState<{ readonly value: Value }>({ value: store.get() });
  useEffect(() => {
    setValue({ value: store.get() });
    return store.subscribe((next) => setValue({ value: next }));
  }, [store]);
  return value.value;
}
