import { ImproperlyConfigured, type OperationPlan } from '@viewset/core';
import { isObject } from './json-schema.ts';
import type { ResolvedOptions } from './options.ts';

/** The operations of a resource, without actions, by tool name. */
export const OPERATIONS = ['search', 'get', 'create', 'update', 'delete'] as const;
export type OperationName = (typeof OPERATIONS)[number];

/** An operation that tools cannot run. */
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
  /** The operations that tools cannot run, with reasons. */
  readonly leftOut: readonly LeftOut[];
}

/**
 * Makes the resources that the options name from the plans.
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
  // Excluding one update of a view excludes them all: without PATCH, PUT must not change a record either.
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
  return new Map([...offered].map(([name, names]) => [name, resourceOf(name, names)]));
}

function checkNames(option: string, names: readonly string[], known: ReadonlySet<string>, fault: string): void {
  const unknown = names.find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw new ImproperlyConfigured(
    `mcp: option "${option}" has "${unknown}", but ${fault}; known: ${[...known].join(', ')}`,
  );
}

/** True for a router's root, which lists paths. */
function isDirectory({ view, action }: OperationPlan): boolean {
  return view.name === 'RouterRoot' && view.entity === undefined && action === 'list';
}

/**
 * True for a variant of an operation that already has a tool: an export, a list with QUERY, or several records in one
 * body.
 */
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
    // PATCH is preferred, because it needs fewer values than PUT.
    else if (plan.method === 'PATCH' || !operations.has(operation)) operations.set(operation, plan);
  }
  // PATCH may work without the file that PUT requires.
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

/** Returns an operation's tool; undefined for an action. */
function operationName({ action }: OperationPlan): OperationName | undefined {
  return Object.hasOwn(NAMES, action) ? NAMES[action] : undefined;
}

/** An action with several methods becomes several actions. */
function actionName({ action, method }: OperationPlan, plans: readonly OperationPlan[]): string {
  const isOne = plans.filter((plan) => plan.action === action).length === 1;
  return isOne ? action : `${action}:${method.toLowerCase()}`;
}

/** Says why tools cannot run an operation; undefined if they can. */
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

/** Tells if every variant of a form requires a part that JSON does not have, which is a file. */
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

/** True if the path contains the record's own key, not only its parents'. */
export function namesRecord({ pathParameters }: OperationPlan): boolean {
  return pathParameters.some(({ name }) => name === 'pk');
}

/** The names of the parents in the path of an operation. */
export function parentsOf({ pathParameters }: OperationPlan): readonly string[] {
  return pathParameters.map(({ name }) => name).filter((name) => name !== 'pk');
}

/** Returns the schema of an operation's values, for one record and without the envelope. */
export function valuesSchema(plan: OperationPlan): unknown {
  const inside = inEnvelope(plan.body?.schema, plan);
  if (!isObject(inside) || !Array.isArray(inside['oneOf'])) return inside;
  const [one, many] = inside['oneOf'] as unknown[];
  return isObject(many) && many['type'] === 'array' ? one : inside;
}

/**
 * Returns the schema of a record in an operation's response, without the envelope and the page; undefined if
 * the response declares none.
 */
export function recordSchema(plan: OperationPlan): unknown {
  const schema: unknown = (plan.responses[200] ?? plan.responses[201])?.schema;
  if (plan.action !== 'list') return inEnvelope(schema, plan);
  if (!isObject(schema)) return undefined;
  const { properties } = schema;
  const results = isObject(properties) ? properties[plan.pageMembers['results'] ?? 'results'] : schema;
  return isObject(results) ? results['items'] : undefined;
}

function inEnvelope(schema: unknown, { envelope }: OperationPlan): unknown {
  if (envelope === undefined || !isObject(schema) || !isObject(schema['properties'])) return schema;
  return schema['properties'][envelope] ?? schema;
}
