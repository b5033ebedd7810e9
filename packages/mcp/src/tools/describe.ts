import type { OperationPlan } from '@viewset/core';
import { quoted } from '../arguments.ts';
import type { Call } from '../call.ts';
import type { OperationInput } from '../catalog.ts';
import { describeAction, describeOperation, describePath, describeRecord } from '../describe-operation.ts';
import type { JsonObject } from '../json-schema.ts';
import { OPERATIONS, plansOf, type Resource } from '../resource.ts';
import type { Tool } from '../tool.ts';
import { ToolProblem } from '../tool-problem.ts';

/**
 * Describes the resources and the input of each operation. The tools' own descriptions do not contain these schemas.
 */
export const describe: Tool = {
  name: 'describe',
  description:
    'Lists the resources and what the account may do with each. With "resource": the fields, filters and actions of one, as JSON Schema. ' +
    'Call it before the first search or write of a resource.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  arguments: ['resource', 'operation'],
  required: [],
  serves: () => true,
  async run(call) {
    if (call.args.resource === undefined) return listed(await call.catalog.shown(), call.maxResultBytes);
    const { name } = await call.resource();
    const resource = await call.catalog.resource(name);
    if (resource === undefined) throw new ToolProblem(`The account may do nothing with ${name}`);
    return described(resource, call);
  },
};

/** Writes one line for each resource, or only the names if the lines are too long. */
function listed(resources: ReadonlyMap<string, Resource>, maxBytes: number): JsonObject {
  const lines = Object.fromEntries([...resources].map(([name, resource]) => [name, lineOf(resource)]));
  const list = { resources: lines };
  if (fits(list, maxBytes)) return list;
  const names = [...resources.keys()];
  if (fits({ resources: names }, maxBytes)) return { resources: names };
  throw new ToolProblem('There are more resources than one result can hold');
}

function lineOf(resource: Resource): string {
  const { operations, actions } = resource;
  const [plan] = plansOf(resource);
  const { description, entity } = plan!.view;
  const names = OPERATIONS.filter((name) => operations.has(name)).join(', ');
  const acts = actions.size === 0 ? '' : `act: ${[...actions.keys()].join(', ')}`;
  const [about = ''] = (description ?? entity ?? '').split('\n');
  return [about.replace(/\.$/, ''), names, acts].filter((part) => part !== '').join('. ');
}

async function described(resource: Resource, call: Call): Promise<JsonObject> {
  const { operation } = call.args;
  const { name, operations, actions, leftOut } = resource;
  const plans = plansOf(resource);
  const head = { resource: name, ...describePath(plans), ...wordsOf(plans) };
  const names = [...operations.keys(), ...actions.keys()];
  if (operation !== undefined) return one(operation, resource, head, call);
  const inputs = new Map<OperationPlan, OperationInput>();
  for (const plan of plans) inputs.set(plan, await call.catalog.inputOf(plan));
  const parts: [name: string, part: JsonObject][] = [
    ...OPERATIONS.flatMap((each): [string, JsonObject][] => {
      const plan = operations.get(each);
      return plan === undefined ? [] : [[each, describeOperation(plan, inputs.get(plan)!, false)]];
    }),
    ...(actions.size === 0 ? [] : [['actions', actionsOf(actions, inputs)] as [string, JsonObject]]),
  ];
  const record = await recordOf(resource, call);
  const complete = {
    ...head,
    ...Object.fromEntries(parts),
    ...(record === undefined ? {} : { record }),
    ...(leftOut.length === 0 ? {} : { left_out: leftOut.map(({ text }) => text) }),
  };
  if (fits(complete, call.maxResultBytes)) return complete;
  return { resource: name, operations: names, note: 'The whole description is too long; name an "operation"' };
}

/** Describes the records by the response of `get`, or of `search`; undefined if neither declares one. */
async function recordOf({ operations }: Resource, { catalog }: Call): Promise<unknown> {
  for (const plan of [operations.get('get'), operations.get('search')]) {
    const schema = plan && (await catalog.recordOf(plan));
    if (schema !== undefined) return describeRecord(schema, plan!);
  }
  return undefined;
}

async function one(
  operation: string,
  { name, operations, actions }: Resource,
  head: JsonObject,
  { catalog, maxResultBytes }: Call,
): Promise<JsonObject> {
  const plan = operations.get(operation as never);
  const action = actions.get(operation);
  if (plan === undefined && action === undefined) {
    throw new ToolProblem(`${name} has no operation ${quoted(operation)}`, {
      operations: [...operations.keys(), ...actions.keys()],
    });
  }
  const input = await catalog.inputOf(plan ?? action!);
  const part = plan === undefined ? describeAction(action!, input, true) : describeOperation(plan, input, true);
  const complete = { ...head, [operation]: part };
  if (fits(complete, maxResultBytes)) return complete;
  throw new ToolProblem(`The description of ${operation} is larger than a result may be`);
}

function actionsOf(
  actions: ReadonlyMap<string, OperationPlan>,
  inputs: ReadonlyMap<OperationPlan, OperationInput>,
): JsonObject {
  return Object.fromEntries([...actions].map(([name, plan]) => [name, describeAction(plan, inputs.get(plan)!, false)]));
}

function wordsOf([plan]: readonly OperationPlan[]): JsonObject {
  const description = plan?.view.description;
  return description === undefined ? {} : { description };
}

function fits(value: JsonObject, maxBytes: number): boolean {
  return Buffer.byteLength(JSON.stringify(value)) <= maxBytes;
}
