import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { getOrMake } from '../../get-or-make.ts';
import type { QueryParameters } from '../../parameters.ts';
import { unionOf } from '../../shapes/schema-object.ts';
import type { Envelope, EnvelopedBodies } from '../answers/envelope.ts';
import type { BodyMode } from '../../shapes/write/bound-input.ts';
import type { Answers } from '../answers/answers.ts';
import type { Bulk } from '../writes/bulk.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import type { InputResolution } from '../writes/input-resolution.ts';
import { placedError } from '../request/placed-error.ts';
import { oneBody, type ReadInput } from '../request/read-input.ts';
import type { RecordKey } from '../visible/record-key.ts';
import type { RecordLists } from './record-lists.ts';
import {
  type OutputOperation,
  isOutputOperation,
  isWrite,
  OPERATION,
  type Operation,
  type WriteOperation,
} from '../request/operation.ts';
import { inputOf } from '../request/request-state.ts';
import type { SchemaSource, BodyRefusal, BulkSchemas, OperationSchemas } from './operation-schemas.ts';
import type { ViewInput } from '../writes/view-input.ts';

/** The parts of a view that its schemas depend on. */
interface SchemaParts {
  readonly key: RecordKey;
  readonly answers: Answers;
  readonly envelope: Envelope;
  readonly lists: RecordLists;
  readonly input: ViewInput | undefined;
  readonly bulk: Bulk | undefined;
  readonly resolution: InputResolution;
  readonly overrides: ViewOverrides;
}

/** Reads a body without an envelope, of one record or several. */
type ReadsBody = (request: FastifyRequest, body: unknown, isSeveral: boolean) => ReadInput;

/** The schemas of a view's operations: of bodies and responses. */
export class ViewSchemas implements SchemaSource {
  readonly #parts: SchemaParts;
  /** The schemas of pages, by the schema of their records. */
  readonly #pages = new WeakMap<TSchema, TSchema>();

  constructor(parts: SchemaParts) {
    this.#parts = parts;
  }

  of(operation: Operation, mode: BodyMode): OperationSchemas {
    const { status } = OPERATION[operation];
    if (!isOutputOperation(operation)) return { response: { [status]: null } };
    const schemas = this.#answersWith(operation, status, (record) => this.#sent(operation, record));
    if (!isWrite(operation)) return schemas;
    const { bulk, envelope } = this.#parts;
    const input = this.#parts.input!;
    const forms = input.formsOf(mode);
    return {
      ...schemas,
      body: envelope.bodyOfOne(unionOf(input.documented(mode))),
      writeShapes: input.choicesFor(operation).map(({ name }) => name),
      form: forms && {
        schema: unionOf([...forms.values()].map(({ schema }) => schema)),
        kinds: [...forms.values()],
        of: (request) => forms.get(input.of(request, operation))!,
      },
      readBody: this.#reading({ one: true, several: false }, (request, body) =>
        oneBody(input.read(request, body, mode)),
      ),
      refuseBody: this.#refusalOf(operation),
      ...(operation === 'create' && bulk?.limit('create') !== undefined && this.#withArrays(schemas, input, bulk)),
    };
  }

  forBulk(operation: WriteOperation): BulkSchemas | undefined {
    const { bulk, key, envelope } = this.#parts;
    const limit = bulk?.limit(operation);
    if (bulk === undefined || limit === undefined) return undefined;
    if (isOutputOperation(operation)) {
      return {
        ...this.#answersWith(operation, OPERATION[operation].status, (record) => envelope.schemaOfMany(record)),
        body: envelope.bodyOfMany(bulk.documented(operation)),
        writeShapes: this.#parts.input!.choicesFor(operation).map(({ name }) => name),
        readBody: this.#reading({ one: false, several: true }, (request, body) => bulk.read(request, body, operation)),
        refuseBody: this.#refusalOf(operation),
      };
    }
    const options = { minItems: 1, maxItems: limit, uniqueItems: true, description: 'The records to delete' };
    const validateQuery = (_query: unknown, parameters: QueryParameters): object => ({
      pk: bulk.keysOf(parameters, (text) => key.parse(text)),
    });
    return {
      querystring: Type.Object({ pk: Type.Array(key.schema, options) }),
      validateQuery,
      response: { [OPERATION[operation].status]: null },
    };
  }

  /** Makes the schema of a list from the schema of its records. The same input gives the same object. */
  ofList(record: TSchema): TSchema {
    return this.#sent('list', record);
  }

  /** Returns the schema of the response to a request; undefined if it is the route's schema. */
  forAnswer(request: FastifyRequest, operation: OutputOperation): TSchema | undefined {
    const { answers, bulk, envelope } = this.#parts;
    const { schema } = answers.of(request, operation);
    const isOfRoute = request.routeOptions.config.viewset?.action === operation;
    if (bulk !== undefined && isOfRoute && Array.isArray(request.body)) return envelope.schemaOfMany(schema);
    return schema === answers.defaultFor(operation).schema ? undefined : this.#sent(operation, schema);
  }

  /**
   * Makes the schemas of an operation's responses: the default, and the one for documents.
   *
   * @param sent makes the schema of a response from the schema of its records
   */
  #answersWith(operation: OutputOperation, status: number, sent: (record: TSchema) => TSchema): OperationSchemas {
    const { answers } = this.#parts;
    const possible = answers.choicesFor(operation);
    const documented = unionOf(possible.map((answer) => answers.documentedSchema(answer)));
    return {
      response: { [status]: sent(possible[0]!.schema) },
      documented: documented === possible[0]!.schema ? undefined : { [status]: sent(documented) },
      readShapes: possible.map(({ name }) => name),
    };
  }

  /**
   * Makes the check that rejects faulty bodies before an override gets them, and arrays that are faulty themselves, for
   * example by a duplicate key.
   */
  #refusalOf(operation: 'create' | 'update'): BodyRefusal | undefined {
    const { bulk, resolution, overrides } = this.#parts;
    const isOverridden = { one: overrides.handles[operation], several: overrides.handlesBulk[operation] };
    if (!isOverridden.one && bulk === undefined) return undefined;
    return async (request) => {
      const input = inputOf(request);
      const isSeveral = Array.isArray(input.value);
      const isRefused = isSeveral ? isOverridden.several || input.faults.length > 0 : isOverridden.one;
      if (isRefused) await resolution.refuseFaults(request, operation);
    };
  }

  /**
   * Returns the schema of an operation's response from the schema of its records. The same input gives the same object.
   */
  #sent(operation: OutputOperation, record: TSchema): TSchema {
    const { envelope, lists } = this.#parts;
    if (operation !== 'list') return envelope.schemaOfOne(record);
    const { paginator } = lists;
    if (paginator === null) return envelope.schemaOfEnvelope(record);
    return getOrMake(this.#pages, record, () => paginator.pageNames.applyToSchema(paginator.envelope(record)));
  }

  /**
   * Makes the schemas of a POST that also accepts an array. Documents describe the array separately, and its response
   * has another schema.
   */
  #withArrays({ response, documented }: OperationSchemas, input: ViewInput, bulk: Bulk): OperationSchemas {
    const read: ReadsBody = (request, body, isSeveral) =>
      isSeveral ? bulk.read(request, body, 'create') : oneBody(input.read(request, body, 'create'));
    return { readBody: this.#reading({ one: true, several: true }, read), documented: documented ?? response };
  }

  /** Makes the reader of bodies that removes the envelope. A form is a list of fields and has no envelope. */
  #reading(takes: EnvelopedBodies, read: ReadsBody): NonNullable<OperationSchemas['readBody']> {
    const { envelope } = this.#parts;
    return (request, isForm) => {
      const { body: sent } = request;
      const { body, path, isSeveral } = isForm
        ? { body: sent, path: '', isSeveral: false }
        : envelope.open(sent, takes);
      if (path === '') return read(request, body, isSeveral);
      try {
        return { ...read(request, body, isSeveral), path };
      } catch (error) {
        throw placedError(error, path);
      }
    };
  }
}
