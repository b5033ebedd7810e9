import type { LaneName } from '../lanes.ts';

type Wake = (lane: LaneName) => void;

/** The workers of this process, by ORM configuration, which all entity managers of an ORM share. */
const workers = new WeakMap<object, Set<Wake>>();

/** Makes the workers of an ORM in this process look for events of a lane at once. */
export function wakeWorkers(config: object, lane: LaneName): void {
  for (const wake of workers.get(config) ?? []) wake(lane);
}

/** Registers a function that wakes a worker. Returns the function that unregisters it. */
export function onWake(config: object, wake: Wake): () => void {
  const all = workers.get(config) ?? new Set();
  workers.set(config, all.add(wake));
  return () => all.delete(wake);
}
