/** The objects that files share in one process, and that a test can change. */
const SHARED: Readonly<Record<string, object>> = {
  globalThis,
  process,
  'process.env': process.env,
  'process.stdout': process.stdout,
  'process.stderr': process.stderr,
  console,
  performance,
  Date,
  Math,
  JSON,
};

/** Where MikroORM writes an option, what runs after the last file, and what streams keep for themselves. */
const NOT_COMPARED = /^process\.env\.MIKRO_ORM_|process on exit$|\._/;

/** The state of the process: the value of each property that files share, by its name. */
export type ProcessState = ReadonlyMap<string, unknown>;

export function processState(): ProcessState {
  const state = new Map<string, unknown>([['the working directory', process.cwd()]]);
  for (const [name, object] of Object.entries(SHARED)) {
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
      state.set(`${name}.${key}`, property.get === undefined ? property.value : 'computed');
    }
  }
  for (const event of process.eventNames()) {
    state.set(`the listeners of process on ${String(event)}`, process.listenerCount(event));
  }
  return state;
}

/** The names of the properties that differ. A new global does not count: a library may set one when it is loaded, and it hides nothing. */
export function changesBetween(before: ProcessState, after: ProcessState): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter(
    (name) =>
      !Object.is(before.get(name), after.get(name)) &&
      !NOT_COMPARED.test(name) &&
      (before.has(name) || !name.startsWith('globalThis.')),
  );
}
