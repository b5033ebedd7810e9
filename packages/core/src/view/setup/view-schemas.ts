import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { getOrMake } from '../../support/get-or-make.ts';
import { unionOf } from '../../shapes/schema-object.ts';
import type { AcceptedBodies, RecordFormat } from '../output/record-format.ts';
import type { BodyMode } from '../../shapes/write/bound-input.ts';
import type { RecordOutputs } from '../output/record-outputs.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import type { InputResolution } from '../write/input-resolution.ts';
import { placedError } from '../request/placed-error.ts';
import { oneBody } from '../request/read-input.ts';
import type { RecordKey } from '../records/record-key.ts';
import type { RecordLists } from './record-lists.ts';
import {
  type InputOperation,
  type OutputOperation,
  isOutputOperation,
  isWrite,
  OPERATION,
  type Operation,
} from '../request/operation.ts';
import type { BodyRefusal, OperationSchemas, ReadsBody, SchemaParts, SchemaSource } from './operation-schemas.ts';
import type { ViewInput } from '../write/view-input.ts';

/** The parts of a view that its schemas depend on. */
interface ViewParts {
  readonly key: RecordKey;
  readonly outputs: RecordOutputs;
  readonly format: RecordFormat;
  readonly lists: RecordLists;
  readonly input: ViewInput | undefined;
  readonly resolution: InputResolution;
  readonly overrides: ViewOverrides;
}

/** The schemas of a view's operations: of bodies and responses. */
export class ViewSchemas implements SchemaSource, SchemaParts {
  readonly #parts: ViewParts;
  /** The schemas of pages, by the schema of their records. */
  readonly #pages = new WeakMap<TSchema, TSchema>();

  constructor(parts: ViewParts) {
    this.#parts = parts;
  }

  of(operation: Operation, mode: BodyMode): OperationSchemas {
    const { status } = OPERATION[operation];
    if (!isOutputOperation(operation)) return { response: { [status]: null } };
    const schemas = {
      ...this.responsesWith(operation, (record) => this.#sent(operation, record)),
      schemaFor: (request: FastifyRequest) => this.#schemaFor(request, operation),
    };
    if (!isWrite(operation)) return schemas;
    const { format } = this.#parts;
    const input = this.#parts.input!;
    const forms = input.formsOf(mode);
    return {
      ...schemas,
      body: format.bodyOfOne(unionOf(input.documented(mode))),
      writeShapes: input.choicesFor(operation).map(({ name }) => name),
      form: forms && {
        schema: unionOf([...forms.values()].map(({ schema }) => schema)),
        kinds: [...forms.values()],
        of: (request) => forms.get(input.of(request, operation))!,
      },
      readBody: this.reading({ one: true, several: false }, (request, body) =>
        oneBody(input.read(request, body, mode)),
      ),
      refuseBody: this.#refusalOf(operation),
    };
  }

  ofList(record: TSchema): TSchema {
    return this.#sent('list', record);
  }

  responsesWith(operation: OutputOperation, sent: (record: TSchema) => TSchema): OperationSchemas {
    const { outputs } = this.#parts;
    const { status } = OPERATION[operation];
    const possible = outputs.choicesFor(operation);
    const documented = unionOf(possible.map((output) => outputs.documentedSchema(output)));
    return {
      response: { [status]: sent(possible[0]!.schema) },
      documented: documented === possible[0]!.schema ? undefined : { [status]: sent(documented) },
      readShapes: possible.map(({ name }) => name),
    };
  }

  /** Makes the check that rejects faulty bodies before an override gets them. Undefined without an override. */
  #refusalOf(operation: InputOperation): BodyRefusal | undefined {
    const { resolution, overrides } = this.#parts;
    if (!overrides.handles[operation]) return undefined;
    return (request) => resolution.throwBodyErrors(request, operation);
  }

  /** Returns the schema of the response to a request; undefined if it is the route's schema. */
  #schemaFor(request: FastifyRequest, operation: OutputOperation): TSchema | undefined {
    const { outputs } = this.#parts;
    const { schema } = outputs.of(request, operation);
    return schema === outputs.defaultFor(operation).schema ? undefined : this.#sent(operation, schema);
  }

  /**
   * Returns the schema of an operation's response from the schema of its records. The same input gives the same object.
   */
  #sent(operation: OutputOperation, record: TSchema): TSchema {
    const { format, lists } = this.#parts;
    if (operation !== 'list') return format.schemaOfOne(record);
    const { paginator } = lists;
    if (paginator === null) return format.schemaOfList(record);
    return getOrMake(this.#pages, record, () => paginator.pageNames.applyToSchema(paginator.envelope(record)));
  }

  reading(accepted: AcceptedBodies, read: ReadsBody): NonNullable<OperationSchemas['readBody']> {
    const { format } = this.#parts;
    return (request, isForm) => {
      const { body: sent } = request;
      const { body, path, isSeveral } = isForm
        ? { body: sent, path: '', isSeveral: false }
        : format.open(sent, accepted);
      if (path === '') return read(request, body, isSeveral);
      try {
        return { ...read(request, body, isSeveral), path };
      } catch (error) {
        throw placedError(error, path);
      }
    };
  }
}
