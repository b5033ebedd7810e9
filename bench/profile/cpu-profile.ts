/** What V8's profiler gives, as far as it is read here. Times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly children?: readonly number[];
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** A function of the profile, all its places in the call tree together. */
export interface FunctionTime {
  readonly key: string;
  /** The package or folder that it belongs to: `core/query`, `fastify`, `pg`, `node:net`, `(native)`. */
  readonly module: string;
  readonly name: string;
  /** Time in the function itself. */
  readonly selfMicroseconds: number;
  /** Time in the function and in what it calls; recursion counts once. */
  readonly totalMicroseconds: number;
}

interface Mutable {
  key: string;
  module: string;
  name: string;
  selfMicroseconds: number;
  totalMicroseconds: number;
}

/** Adds up self and total times by function; the time that the process slept is left out. */
export function functionTimes(profile: CpuProfile): FunctionTime[] {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const self = new Map<number, number>();
  for (const [index, id] of profile.samples.entries()) {
    self.set(id, (self.get(id) ?? 0) + (profile.timeDeltas[index] ?? 0));
  }
  const functions = new Map<string, Mutable>();
  const root = profile.nodes[0];
  if (root !== undefined) addUp({ node: root, caller: '' }, nodes, self, functions, new Set());
  return [...functions.values()];
}

function addUp(
  { node, caller }: { node: ProfileNode; caller: string },
  nodes: ReadonlyMap<number, ProfileNode>,
  self: ReadonlyMap<number, number>,
  functions: Map<string, Mutable>,
  above: Set<string>,
): number {
  const { callFrame } = node;
  if (callFrame.functionName === '(idle)' || isProfiler(callFrame)) return 0;
  const entry = entryOf(callFrame, caller, functions);
  const outermost = !above.has(entry.key);
  if (outermost) above.add(entry.key);
  const own = self.get(node.id) ?? 0;
  let total = own;
  for (const id of node.children ?? []) {
    total += addUp({ node: nodes.get(id)!, caller: entry.key }, nodes, self, functions, above);
  }
  entry.selfMicroseconds += own;
  if (outermost) {
    entry.totalMicroseconds += total;
    above.delete(entry.key);
  }
  return total;
}

/** What it takes to collect the profile is not the server's. */
function isProfiler({ functionName, url }: CallFrame): boolean {
  return functionName === 'post' && url === 'node:inspector';
}

/** @param caller tells apart what has neither a name nor a place: methods that are written in C++ */
function entryOf(
  { functionName, url, lineNumber }: CallFrame,
  caller: string,
  functions: Map<string, Mutable>,
): Mutable {
  const { module, file } = placeOf(url, functionName);
  const name = functionName === '' ? '(anonymous)' : functionName;
  const native = functionName === '' ? `(native) in ${caller}` : name;
  const key = url === '' ? native : `${name} ${file}:${lineNumber + 1}`;
  let entry = functions.get(key);
  if (entry === undefined) {
    entry = { key, module, name, selfMicroseconds: 0, totalMicroseconds: 0 };
    functions.set(key, entry);
  }
  return entry;
}

/** Where a function is from: never a path of this machine. */
function placeOf(url: string, functionName: string): { module: string; file: string } {
  if (url.startsWith('node:')) return { module: 'node', file: url };
  const dependency = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(url);
  if (dependency !== null) return { module: dependency[1]!, file: `${dependency[1]}/${dependency[2]}` };
  const own = /\/(?:packages\/)?(core|auth|bench)\/(?:src\/)?((?:([\w-]+)\/)?.*)$/.exec(url);
  if (own !== null) {
    const folder = own[3] === undefined ? own[1]! : `${own[1]}/${own[3]}`;
    return { module: folder, file: `${own[1]}/${own[2]}` };
  }
  if (functionName === '(garbage collector)') return { module: '(garbage collector)', file: '' };
  // Compiled at run time: serializers, validators, routers' handlers; and what C++ does.
  return url === ''
    ? { module: '(native and generated)', file: '' }
    : { module: 'other', file: url.split('/').at(-1)! };
}
