import { ImproperlyConfigured, type OperationPlan } from '@viewset/core';
import { isObject } from './json-schema.ts';
import type { ResolvedOptions } from './options.ts';

/** The operations of a resource beside its actions, by the names of their tools. */
export const OPERATIONS = ['search', 'get', 'create', 'update', 'delete'] as const;
export type OperationName = (typeof OPERATIONS)[number];

/** An operation that no tool can run. */
export interface LeftOut {
  readonly plan: OperationPlan;
  /** The operation and the reason, in one sentence. */
  readonly text: string;
}

/** A view as the tools see it. */
export interface Resource {
  /** The basename of its routes. */
  readonly name: string;
  readonly operations: ReadonlyMap<OperationName, OperationPlan>;
  readonly actions: ReadonlyMap<string, OperationPlan>;
  /** The operations that no tool can run, with the reason. */
  readonly leftOut: readonly LeftOut[];
}

/**
 * Makes the resources of the plans that the options name.
 *
 * @throws ImproperlyConfigured for a name that no view has
 */
export function resourcesOf(plans: readonly OperationPlan[], options: ResolvedOptions): ReadonlyMap<string, Resource> {
  const { resources, exclude, readOnly } = options;
  const named = plans.filter((plan) => !isDirectory(plan));
  const basenames = new Set(named.map(({ view }) => view.basename));
  const ids = new Set(named.map(({ operationId }) => operationId));
  if (resources !== 'all') checkNames('resources', resources, basenames, 'no view has this basename');
  checkNames(
    'exclude',
    exclude,
    new Set([...basenames, ...ids]),
    'no view has this basename, and no operation this id',
  );
  // Whoever may not change a record by PATCH may not by PUT.
  const unchanged = new Set(
    plans
      .filter((plan) => plan.action === 'update' && exclude.includes(plan.operationId))
      .map(({ view }) => view.basename),
  );
  const isOffered = ({ view, action, operationId, method }: OperationPlan): boolean =>
    (resources === 'all' || resources.includes(view.basename)) &&
    !exclude.includes(view.basename) &&
    !exclude.includes(operationId) &&
    !(action === 'update' && unchanged.has(view.basename)) &&
    (!readOnly || method === 'GET');
  const offered = Map.groupBy(
    named.filter((plan) => isOffered(plan) && !isVariant(plan)),
    ({ view }) => view.basename,
  );
  return new Map([...offered].map(([name, own]) => [name, resourceOf(name, own)]));
}

function checkNames(option: string, names: readonly string[], known: ReadonlySet<string>, fault: string): void {
  const unknown = names.find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw new ImproperlyConfigured(
    `mcp: option "${option}" has "${unknown}", but ${fault}; known: ${[...known].join(', ')}`,
  );
}

/** True for the root of a router, which lists paths. */
function isDirectory({ view, action }: OperationPlan): boolean {
  return view.name === 'RouterRoot' && view.entity === undefined && action === 'list';
}

/** True for another form of an operation that a tool has: a list as a file, a list by QUERY, several records in one body. */
function isVariant({ variant, method, action, detail }: OperationPlan): boolean {
  return variant !== undefined || method === 'QUERY' || ((action === 'update' || action === 'destroy') && !detail);
}

function resourceOf(name: string, plans: readonly OperationPlan[]): Resource {
  const operations = new Map<OperationName, OperationPlan>();
  const actions = new Map<string, OperationPlan>();
  const obstacles = new Map<string, LeftOut>();
  for (const plan of plans) {
    const operation = operationName(plan);
    const reason = obstacle(plan);
    const tool = operation ?? actionName(plan, plans);
    if (reason !== undefined) obstacles.set(tool, { plan, text: `${tool} ${reason}` });
    else if (operation === undefined) actions.set(tool, plan);
    // A partial update needs fewer values than one by PUT.
    else if (plan.method === 'PATCH' || !operations.has(operation)) operations.set(operation, plan);
  }
  // A PATCH may do without the file that a PUT needs.
  const leftOut = [...obstacles].filter(([each]) => !operations.has(each as OperationName));
  return { name, operations, actions, leftOut: leftOut.map(([, each]) => each) };
}

const NAMES: Readonly<Record<string, OperationName>> = {
  list: 'search',
  retrieve: 'get',
  create: 'create',
  update: 'update',
  destroy: 'delete',
};

/** The tool of an operation; undefined for an action. */
function operationName({ action }: OperationPlan): OperationName | undefined {
  return Object.hasOwn(NAMES, action) ? NAMES[action] : undefined;
}

/** An action of several methods is several. */
function actionName({ action, method }: OperationPlan, plans: readonly OperationPlan[]): string {
  const isOne = plans.filter((plan) => plan.action === action).length === 1;
  return isOne ? action : `${action}:${method.toLowerCase()}`;
}

/** Says why no tool can run an operation; undefined if one can. */
function obstacle({ body, responses }: OperationPlan): string | undefined {
  if (body !== undefined && !body.contentTypes.includes('application/json')) {
    return `takes ${body.contentTypes.join(' or ')}, which no tool sends`;
  }
  if (body?.form !== undefined && needsFile(body.form, body.schema)) return 'needs a file, which no tool sends';
  const types = Object.entries(responses).flatMap(([status, { schema }]) =>
    status.startsWith('2') && isObject(schema) && typeof schema['contentMediaType'] === 'string'
      ? schema['contentMediaType']
      : [],
  );
  return types.length === 0 ? undefined : `answers with ${types[0]}, which no tool shows`;
}

interface Fields {
  readonly properties?: object;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Fields[];
}

/** Tells if every kind of a form requires a part that JSON does not have: a file. */
function needsFile(form: Fields, json: Fields | undefined): boolean {
  const kinds = json?.anyOf ?? [json];
  return (form.anyOf ?? [form]).every(({ required = [] }, index) => {
    const { properties = {} } = kinds[index] ?? {};
    return required.some((name) => !Object.hasOwn(properties, name));
  });
}

/** Lists the operations and actions of a resource. */
export function plansOf({ operations, actions }: Resource): readonly OperationPlan[] {
  return [...operations.values(), ...actions.values()];
}

/** True if the path of an operation names the record itself, and not only its parents. */
export function namesRecord({ pathParameters }: OperationPlan): boolean {
  return pathParameters.some(({ name }) => name === 'pk');
}

/** The names of the parents in the path of an operation. */
export function parentsOf({ pathParameters }: OperationPlan): readonly string[] {
  return pathParameters.map(({ name }) => name).filter((name) => name !== 'pk');
}

/** The schema of the values that an operation takes, without the envelope, of one record alone. */
export function valuesSchema({ body, envelope }: OperationPlan): unknown {
  const { schema } = body ?? {};
  const inside =
    envelope !== undefined && isObject(schema) && isObject(schema['properties'])
      ? schema['properties'][envelope]
      : schema;
  if (!isObject(inside) || !Array.isArray(inside['oneOf'])) return inside;
  const [one, many] = inside['oneOf'] as unknown[];
  return isObject(many) && many['type'] === 'array' ? one : inside;
}
