import type { TSchema } from 'typebox';
import { ERROR_SCHEMA } from './operation-responses.ts';
import type { OperationPlan, OperationResponse } from './operation-plan.ts';

/** The schema of an answer as Fastify gets it, with the answer's description and headers for documents. */
type ResponseSchema = object;

/** The schema of the body alone, by the schema that Fastify gets; undefined: the body goes out as it is. */
const bodySchemas = new WeakMap<ResponseSchema, TSchema | undefined>();
/** The schemas of answers that many routes share, which are those of errors. */
const shared = new WeakMap<OperationResponse, ResponseSchema>();

/**
 * Makes Fastify's `schema.response`. If one 2xx answer is declared, its schema holds for every other 2xx too, so that a
 * `reply.code(202)` does not send more than was declared.
 */
export function responseSchemas({ responses, documentation }: OperationPlan): Readonly<Record<string, ResponseSchema>> {
  const schemas: Record<string, ResponseSchema> = {};
  for (const [status, response] of Object.entries(responses)) {
    schemas[status] = responseSchema(response, status === '204', documentation.examples.responses?.[Number(status)]);
  }
  const successes = Object.keys(responses).filter((status) => status.startsWith('2'));
  const only = successes.length === 1 ? successes[0]! : undefined;
  if (only !== undefined && responses[Number(only)]!.schema !== undefined) schemas['2xx'] = schemas[only]!;
  return schemas;
}

function responseSchema(response: OperationResponse, isEmpty: boolean, example: unknown): ResponseSchema {
  const known = example === undefined ? shared.get(response) : undefined;
  if (known !== undefined) return known;
  const { schema = isEmpty ? { type: 'null' } : {}, description, headers } = response;
  const made = {
    ...schema,
    description,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(example === undefined ? {} : { examples: [example] }),
  };
  bodySchemas.set(made, response.schema === ERROR_SCHEMA ? undefined : response.schema);
  shared.set(response, made);
  return made;
}

/** The schema of an answer's body, of the one that Fastify got; undefined: the body goes out as it is. */
export function bodySchemaOf(schema: unknown): TSchema | undefined {
  return bodySchemas.get(schema as ResponseSchema);
}
