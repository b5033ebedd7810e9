/** The workers of this process, by the configurations of their ORMs, which all entity managers of an ORM share. */
const workers = new WeakMap<object, Set<() => void>>();

/** Has the workers of an ORM in this process look for events at once. */
export function wakeWorkers(config: object): void {
  for (const wake of workers.get(config) ?? []) wake();
}

/** Has a worker be woken. Returns the function that ends it. */
export function onWake(config: object, wake: () => void): () => void {
  const all = workers.get(config) ?? new Set();
  workers.set(config, all.add(wake));
  return () => all.delete(wake);
}
