/** A place in the code, as V8 names it. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** A node of a call tree, and its self cost. */
export interface CostNode {
  readonly callFrame: CallFrame;
  readonly self: number;
  readonly children: readonly CostNode[];
}

/** The cost of a function, for all its nodes in the call tree: microseconds, or bytes. */
export interface FunctionCost {
  readonly key: string;
  /** The package or folder that it belongs to: `core/query`, `fastify`, `pg`, `node:net`, `(native)`. */
  readonly module: string;
  readonly name: string;
  /** The self cost of the function. */
  self: number;
  /** The cost of the function and its callees; recursion counts once. */
  total: number;
}

/** Adds up the costs of a call tree by function. */
export function functionCosts(root: CostNode): FunctionCost[] {
  const functions = new Map<string, FunctionCost>();
  addUp(root, '', functions, new Set());
  return [...functions.values()];
}

function addUp(node: CostNode, caller: string, functions: Map<string, FunctionCost>, above: Set<string>): number {
  const { callFrame } = node;
  if (callFrame.functionName === '(idle)' || isProfiler(callFrame)) return 0;
  const entry = entryOf(callFrame, caller, functions);
  const outermost = !above.has(entry.key);
  if (outermost) above.add(entry.key);
  let total = node.self;
  for (const child of node.children) total += addUp(child, entry.key, functions, above);
  entry.self += node.self;
  if (outermost) {
    entry.total += total;
    above.delete(entry.key);
  }
  return total;
}

/** The cost of collecting a profile is not the server's. */
function isProfiler({ functionName, url }: CallFrame): boolean {
  return functionName === 'post' && url === 'node:inspector';
}

/** @param caller distinguishes functions without a name or place: methods that are written in C++ */
function entryOf(
  { functionName, url, lineNumber }: CallFrame,
  caller: string,
  functions: Map<string, FunctionCost>,
): FunctionCost {
  const { module, file } = placeOf(url, functionName);
  const name = functionName === '' ? '(anonymous)' : functionName;
  const native = functionName === '' ? `(native) in ${caller}` : name;
  const key = url === '' ? native : `${name} ${file}:${lineNumber + 1}`;
  let entry = functions.get(key);
  if (entry === undefined) {
    entry = { key, module, name, self: 0, total: 0 };
    functions.set(key, entry);
  }
  return entry;
}

/** The origin of a function: never a path of this machine. */
function placeOf(url: string, functionName: string): { module: string; file: string } {
  if (url.startsWith('node:')) return { module: 'node', file: url };
  const dependency = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(url);
  if (dependency !== null) return { module: dependency[1]!, file: `${dependency[1]}/${dependency[2]}` };
  const found = /\/(?:packages\/)?(core|auth|bench)\/(?:src\/)?((?:([\w-]+)\/)?.*)$/.exec(url);
  if (found !== null) {
    const folder = found[3] === undefined ? found[1]! : `${found[1]}/${found[3]}`;
    return { module: folder, file: `${found[1]}/${found[2]}` };
  }
  if (functionName === '(garbage collector)') return { module: '(garbage collector)', file: '' };
  // Compiled at run time: serializers, validators, routers' handlers; and C++ functions.
  return url === ''
    ? { module: '(native and generated)', file: '' }
    : { module: 'other', file: url.split('/').at(-1)! };
}
