import { objectIn, quoted } from '../arguments.ts';
import { isObject } from '../json-schema.ts';
import { valuesSchema } from '../resource.ts';
import type { Tool } from '../tool.ts';
import { ToolProblem } from '../tool-problem.ts';

/** Runs an action of a view. Its effect is unknown, so the hints expect the worst. */
export const act: Tool = {
  name: 'act',
  description:
    'Runs an action of a resource, or of one of its records. describe lists the actions, and what each takes.',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  arguments: ['resource', 'parents', 'action', 'id', 'query', 'body', 'etag', 'key'],
  required: ['resource', 'action'],
  serves: ({ actions }) => actions.size > 0,
  async run(call) {
    const { action = '', body: sent } = call.args;
    const { name, actions } = await call.resource();
    const plan = actions.get(action);
    if (plan === undefined) {
      throw await call.missing(`${name} has no action ${quoted(action)}`, name);
    }
    // A body that is declared as an object is never a text.
    const schema = valuesSchema(plan);
    const body = isObject(schema) && schema['type'] === 'object' ? (objectIn(sent) ?? sent) : sent;
    if (body !== undefined && plan.method === 'GET') throw new ToolProblem(`${action} takes no "body"`);
    const { value, etag, note } = await call.send(plan, body, 'body');
    return {
      ...(note === undefined ? { answer: value ?? null } : { note }),
      ...(etag === undefined ? {} : { etag }),
    };
  },
};
