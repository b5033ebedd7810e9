/** Useless work until the parent ends, to keep a core awake; see `awake-cores.ts`. */
const CHUNK_MS = 20;
const PAUSES = 1000;

/** A hint to the core that this is nothing but waiting; not in Node 22. */
const { pause = (): void => {} } = Atomics as { readonly pause?: () => void };

process.once('disconnect', () => process.exit());
spin();

/** A pause leaves the core's execution units to the other thread of the core. */
function spin(): void {
  const until = performance.now() + CHUNK_MS;
  while (performance.now() < until) {
    for (let count = 0; count < PAUSES; count++) pause();
  }
  setImmediate(spin);
}
