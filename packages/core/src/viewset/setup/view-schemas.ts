import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import type { BodyMode } from '../../shapes/write/bound-input.ts';
import type { AnsweringOperation } from '../request/answer.ts';
import type { Answers } from '../answers/answers.ts';
import type { Bulk } from '../writes/bulk.ts';
import type { Customized } from '../request/customized.ts';
import type { InputResolution } from '../writes/input-resolution.ts';
import { oneBody } from '../request/read-input.ts';
import type { RecordKey } from '../visible/record-key.ts';
import type { RecordLists } from './record-lists.ts';
import type { WriteOperation, Operation } from '../request/operation.ts';
import { inputOf } from '../request/request-state.ts';
import type { SchemaSource, BodyRefusal, BulkSchemas, OperationSchemas } from './view-definition.ts';
import type { ViewInput } from '../writes/view-input.ts';

/** The parts of a view that its schemas are made of. */
interface SchemaParts {
  readonly key: RecordKey;
  readonly answers: Answers;
  readonly lists: RecordLists;
  readonly input: ViewInput | undefined;
  readonly bulk: Bulk | undefined;
  readonly resolution: InputResolution;
  readonly customized: Customized;
}

/** The schemas of a view's operations: of what they take, and of what they answer with. */
export class ViewSchemas implements SchemaSource {
  readonly #parts: SchemaParts;
  /** The schemas of lists by those of their records. */
  readonly #lists = new WeakMap<TSchema, TSchema>();
  readonly #arrays = new WeakMap<TSchema, TSchema>();

  constructor(parts: SchemaParts) {
    this.#parts = parts;
  }

  of(operation: Operation, mode: BodyMode): OperationSchemas {
    if (operation === 'destroy') return { response: { 204: null } };
    const status = operation === 'create' ? 201 : 200;
    const schemas = this.#answersWith(operation, status, (record) => this.#sent(operation, record));
    if (operation === 'list' || operation === 'retrieve') return schemas;
    const { bulk } = this.#parts;
    const input = this.#parts.input!;
    const { json, form } = input.documented(mode);
    return {
      ...schemas,
      body: json,
      form: form && { schema: form, files: input.filesIn(mode) },
      readBody: (body) => oneBody(input.read(body, mode)),
      refuseBody: this.#refusalOf(operation),
      ...(operation === 'create' && bulk?.limit('create') !== undefined && withArrays(schemas, input, bulk)),
    };
  }

  forBulk(operation: WriteOperation): BulkSchemas | undefined {
    const { bulk, key } = this.#parts;
    const limit = bulk?.limit(operation);
    if (bulk === undefined || limit === undefined) return undefined;
    if (operation !== 'destroy') {
      return {
        ...this.#answersWith(operation, operation === 'create' ? 201 : 200, (record) => this.#array(record)),
        body: bulk.documented(operation),
        readBody: (body) => bulk.read(body, operation),
        refuseBody: this.#refusalOf(operation),
      };
    }
    const options = { minItems: 1, maxItems: limit, uniqueItems: true, description: 'The records to delete' };
    const validateQuery = (query: unknown): object => ({
      pk: bulk.keysOf((query as { pk?: string | readonly string[] }).pk, (text) => key.parse(text)),
    });
    return {
      querystring: Type.Object({ pk: Type.Array(key.schema, options) }),
      validateQuery,
      response: { 204: null },
    };
  }

  /** Returns the schema of the answer to a request; undefined if it is that of the route. */
  forAnswer(request: FastifyRequest, operation: AnsweringOperation): TSchema | undefined {
    const { answers, bulk } = this.#parts;
    const { schema } = answers.of(request, operation);
    if (bulk !== undefined && Array.isArray(request.body)) return this.#array(schema);
    return schema === answers.defaultFor(operation).schema ? undefined : this.#sent(operation, schema);
  }

  /**
   * Makes the schemas of an operation's answers: as most requests get them, and as documents have them.
   *
   * @param sent makes the schema of an answer of that of its records
   */
  #answersWith(operation: AnsweringOperation, status: number, sent: (record: TSchema) => TSchema): OperationSchemas {
    const { answers } = this.#parts;
    const possible = answers.choicesFor(operation);
    const [own, ...others] = possible.map((answer) => answers.documentedSchema(answer));
    const documented = others.length === 0 ? own! : Type.Union([own!, ...others]);
    return {
      response: { [status]: sent(possible[0]!.schema) },
      documented: documented === possible[0]!.schema ? undefined : { [status]: sent(documented) },
      readShapes: possible.map(({ name }) => name),
    };
  }

  /** Makes the refusal of bodies that an override of the view would get, and of arrays that are at fault themselves. */
  #refusalOf(operation: 'create' | 'update'): BodyRefusal | undefined {
    const { bulk, resolution, customized } = this.#parts;
    const isOverridden = { one: customized.handles[operation], several: customized.handlesBulk[operation] };
    if (!isOverridden.one && bulk === undefined) return undefined;
    return async (request) => {
      const input = inputOf(request);
      const isSeveral = Array.isArray(input.value);
      const isRefused = isSeveral ? isOverridden.several || input.faults.length > 0 : isOverridden.one;
      if (isRefused) await resolution.refuseFaults(request, operation);
    };
  }

  /** Returns the schema of an array of records of a schema: the same object for the same schema. */
  #array(record: TSchema): TSchema {
    const array = this.#arrays.get(record) ?? Type.Array(record);
    this.#arrays.set(record, array);
    return array;
  }

  /** Returns the schema of an operation's answer with records of a schema: the same object for the same schema. */
  #sent(operation: AnsweringOperation, record: TSchema): TSchema {
    if (operation !== 'list') return record;
    const list = this.#lists.get(record) ?? this.#parts.lists.paginator?.envelope(record) ?? Type.Array(record);
    this.#lists.set(record, list);
    return list;
  }
}

/** Makes the schemas of a POST that takes an array too, which documents have apart, and which is answered with another schema. */
function withArrays({ response, documented }: OperationSchemas, input: ViewInput, bulk: Bulk): OperationSchemas {
  return {
    readBody: (body) => (Array.isArray(body) ? bulk.read(body, 'create') : oneBody(input.read(body, 'create'))),
    documented: documented ?? response,
  };
}
