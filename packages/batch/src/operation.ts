import { ERROR_SCHEMA } from '@viewset/core';
import { type Static, type TSchema, Type } from 'typebox';

/** The methods of operations. */
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const ID = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'Names the operation in its response, and in references of later operations',
});

const OPERATION = Type.Object(
  {
    id: Type.Optional(ID),
    method: Type.Enum(METHODS),
    path: Type.String({
      minLength: 1,
      description:
        'The path and query below the path of the API, such as "/books/7". A segment may be a reference: "/books/{a.id}"',
      examples: ['/books'],
    }),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'If-Match, If-None-Match and Idempotency-Key',
      }),
    ),
    body: Type.Optional(
      Type.Unknown({
        description:
          'JSON, in which {"$ref": "a.id"} is replaced by a field of an earlier answer. The keys "$ref", "$$ref", … of data get one more "$"',
      }),
    ),
  },
  { title: 'BatchOperation' },
);

/** One operation of a batch, as a client sends it. */
export type BatchOperation = Static<typeof OPERATION>;

/** Makes the schema of a batch. */
export function batchSchema(maxOperations: number) {
  return Type.Object(
    { operations: Type.Array(OPERATION, { minItems: 1, maxItems: maxOperations }) },
    { title: 'Batch' },
  );
}

const ANSWER = Type.Object(
  {
    id: Type.Optional(ID),
    status: Type.Integer(),
    headers: Type.Record(Type.String(), Type.String(), {
      description: 'Location and ETag, by their names in lower case',
    }),
    body: Type.Optional(Type.Unknown({ description: 'Left out if the response has no body' })),
  },
  { title: 'BatchAnswer' },
);

/** The answer to one operation of a batch. */
export type BatchAnswer = Static<typeof ANSWER>;

/** The schema of the response to a batch that was stored. */
export const ANSWERS_SCHEMA = Type.Object(
  { answers: Type.Array(ANSWER, { description: 'In the order of the operations' }) },
  { title: 'BatchAnswers' },
);

/** The response to a batch that was stored. */
export type BatchAnswers = Static<typeof ANSWERS_SCHEMA>;

const { properties } = ERROR_SCHEMA as TSchema & { readonly properties: Readonly<Record<string, TSchema>> };

/** The schema of the response to a batch with a failed operation. */
export const FAILED_SCHEMA = Type.Object(
  {
    ...properties,
    operations: Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        id: Type.Optional(ID),
        status: Type.Integer(),
        body: Type.Unknown({ description: 'The response that the operation alone would have had' }),
      }),
    ),
  },
  { title: 'BatchFailed' },
);
