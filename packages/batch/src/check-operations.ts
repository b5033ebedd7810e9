import type { KnownRoutes } from './known-routes.ts';
import type { BatchOperation } from './operation.ts';
import { eachReference, type Fault, idIn, pathProblem, referencesInPath } from './references.ts';

/** The headers that an operation may set itself. The others come from the batch. */
const HEADERS: ReadonlySet<string> = new Set(['if-match', 'if-none-match', 'idempotency-key']);

/** The context for checking the operations of a batch. */
export interface BatchPlace {
  /** The base of the operations' paths. */
  readonly base: string;
  readonly routes: KnownRoutes;
}

/** Lists all faults of a batch's operations before any of them runs. */
export function faultsOf(operations: readonly BatchOperation[], place: BatchPlace): Fault[] {
  const earlier = new Set<string>();
  const all = new Set(operations.map(({ id }) => id));
  return operations.flatMap((operation, index) => {
    const path = `/operations/${index}`;
    const { id } = operation;
    const faults = [...faultsOfTarget(operation, place), ...faultsOfHeaders(operation)];
    if (id !== undefined && earlier.has(id)) faults.push({ path: '/id', message: 'is the id of an earlier operation' });
    const visit = (reference: string, at: string): void => {
      const named = idIn(reference);
      if (named !== undefined && earlier.has(named)) return;
      faults.push({ path: at, message: referenceProblem(reference, named, all) });
    };
    for (const reference of referencesInPath(operation.path)) visit(reference, '/path');
    const ofBody = eachReference(operation.body, (reference, at) => visit(reference, `/body${at}`)).map(inBody);
    if (id !== undefined) earlier.add(id);
    return [...faults, ...ofBody].map((fault) => ({ ...fault, path: path + fault.path }));
  });
}

function inBody({ path, message }: Fault): Fault {
  return { path: `/body${path}`, message };
}

function referenceProblem(reference: string, id: string | undefined, all: ReadonlySet<string | undefined>): string {
  const name = JSON.stringify(reference.slice(0, 100));
  if (id === undefined) return `${name} is no reference, such as "a.id"`;
  return all.has(id)
    ? `${name} refers to an operation that does not come before this one`
    : `${name} refers to no operation of the batch`;
}

function faultsOfTarget(operation: BatchOperation, place: BatchPlace): Fault[] {
  const message = pathProblem(operation.path) ?? targetProblem(operation, place);
  return message === undefined ? [] : [{ path: '/path', message }];
}

function targetProblem({ method, path }: BatchOperation, { base, routes }: BatchPlace): string | undefined {
  const name = `${method} ${path.slice(0, 200)}`;
  const target = path.split('?')[0]!;
  const found = routes.find(method, base + target);
  if (found === 'batchable') return undefined;
  if (found === 'excluded') return `${name} is an operation that cannot be part of a batch`;
  const hasBase = target.startsWith(`${base}/`) && routes.find(method, target) !== undefined;
  const shown = base.slice(0, 200);
  const hint = hasBase ? `; leave out "${shown}" at the beginning` : '';
  return `${name} is no operation below "${shown}/"${hint}`;
}

function faultsOfHeaders({ headers = {} }: BatchOperation): Fault[] {
  return Object.keys(headers)
    .filter((name) => !HEADERS.has(name.toLowerCase()))
    .map((name) => ({
      path: `/headers/${name.slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1')}`,
      message: 'is no header that an operation can have: If-Match, If-None-Match or Idempotency-Key',
    }));
}
