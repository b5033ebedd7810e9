import type { EntityMetadata, MikroORM } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { requireSync } from '../../support/awaitable.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { hasAllRelated } from '../../query/language/cached-related.ts';
import { ofEntities, withKey } from '../../query/language/projection.ts';
import { LruMap } from '../../support/lru-map.ts';
import type { ParameterDeclaration, QueryParameters } from '../../http/parameters.ts';
import { checkProjection } from '../../query/queryset.ts';
import type { ReadShape } from '../../shapes/read/read-shape.ts';
import type { RecordOutput } from '../request/record-output.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import { isPlainColumn } from './plain-column.ts';
import { ShapeChoice } from '../request/named-shapes.ts';
import { parametersOf, type RequestState, stateOf } from '../request/request-state.ts';
import { OUTPUT_OPERATIONS, type OutputOperation, isOutputOperation, type Operation } from '../request/operation.ts';
import { deferRecord } from '../request/deferred-records.ts';
import type { Selections } from './selections.ts';

/** The hooks of a view that decide its responses. */
export interface OutputView {
  readonly name: string;
  represent(entity: object, request?: FastifyRequest): object;
  readShapeFor(request: FastifyRequest, operation: OutputOperation): string | undefined;
}

/** The declarations of a view that decide its responses. */
interface OutputDeclarations {
  readonly view: OutputView;
  readonly shapes: ReadonlyMap<string, ReadShape<object, object>>;
  readonly orm: MikroORM;
  readonly meta: EntityMetadata;
  /** The column that identifies a record. */
  readonly key: FieldPath;
  /** The operations of the view. */
  readonly operations: readonly Operation[];
  readonly overrides: ViewOverrides;
  /** Undefined if clients cannot select fields. */
  readonly selections: Selections | undefined;
}

/** The cached selections of one shape. Clients can send any number. */
const MAX_SELECTIONS = 100;

/**
 * Decides what each request gets: records in the shape of its operation, or in a shape that `readShapeFor`
 * chooses. Every record that a view sends is read and serialized by one of these outputs.
 */
export class RecordOutputs {
  readonly #declarations: OutputDeclarations;
  readonly #choice: ShapeChoice<OutputOperation, ReadShape<object, object>, RecordOutput>;
  /** True if all requests have the same output. */
  readonly isOne: boolean;
  /**
   * The operation whose output determines a record's tag: `retrieve` if the view offers it or has only one output, else
   * `update`. Undefined if no operation shows that output, because a client could then guess hidden fields from the
   * tag.
   */
  readonly taggedBy: 'retrieve' | 'update' | undefined;
  /** The selected outputs, by the text of the selection. */
  readonly #selected = new WeakMap<RecordOutput, LruMap<string, RecordOutput>>();
  /** The output of the running override of `represent`. */
  #representing: RecordOutput | undefined;

  constructor(declarations: OutputDeclarations) {
    const { view, shapes, overrides, selections } = declarations;
    this.#declarations = declarations;
    const choose = overrides.choosesReadShape ? view.readShapeFor.bind(view) : undefined;
    this.#choice = new ShapeChoice({
      shapes,
      operations: OUTPUT_OPERATIONS,
      hook: { owner: `${view.name}: readShapeFor()`, choose },
      make: (name, shape) => this.#make(name, shape),
    });
    const { all } = this.#choice;
    const dependsOnRequest = all.some(({ forRequest }) => forRequest !== undefined);
    const { operations } = declarations;
    const isShown = operations.includes('retrieve') || all.length === 1;
    this.taggedBy = isShown ? 'retrieve' : operations.includes('update') ? 'update' : undefined;
    this.isOne = all.length === 1 && selections === undefined && !dependsOnRequest;
  }

  /** The default output of an operation. */
  defaultFor(operation: OutputOperation): RecordOutput {
    return this.#choice.usual[operation];
  }

  /** The to-one relations that must be loaded to make the record of a request's output. */
  populateFor(request: FastifyRequest): readonly string[] {
    const outputs = Object.values(this.isOne ? this.#choice.usual : { ...this.#choice.usual, ...outputsOf(request) });
    return [...new Set(outputs.flatMap((output) => output?.projection.populate ?? []))];
  }

  /** Lists the outputs that requests for an operation may get, its default first. */
  choicesFor(operation: OutputOperation): readonly RecordOutput[] {
    return this.#choice.choicesFor(operation);
  }

  /** True if clients can add fields. */
  get canExpand(): boolean {
    return this.#declarations.selections?.canExpand === true;
  }

  /** The query parameters that select fields of an operation's output. */
  parametersOf(operation: OutputOperation): readonly ParameterDeclaration[] {
    return this.#declarations.selections?.parametersFor(this.choicesFor(operation).map(({ shape }) => shape)) ?? [];
  }

  /** The schema of every record that an output may send, for documents. */
  documentedSchema({ shape }: RecordOutput): TObject {
    return this.#declarations.selections?.documented(shape) ?? shape.schema;
  }

  /** Returns the output for an operation of a request. */
  of(request: FastifyRequest, operation: OutputOperation): RecordOutput {
    return this.isOne ? this.#choice.usual[operation] : bound(this.#decide(request, operation), request);
  }

  #decide(request: FastifyRequest, operation: OutputOperation): RecordOutput {
    const outputs = outputsOf(request);
    return (outputs[operation] ??= this.#choice.choose(request, operation));
  }

  /** Returns the output for the request's own operation; for an action, the output of `retrieve`. */
  current(request: FastifyRequest): RecordOutput {
    return this.of(request, operationOf(request));
  }

  /**
   * Makes a record from an entity. It uses the output that is being made, else the request's output, else the default
   * of `retrieve`. With a request, related records that are not loaded are read after the handler has returned.
   */
  readEntity(entity: object, request: FastifyRequest | undefined, operation?: OutputOperation): object {
    const output =
      this.#representing ??
      (request === undefined ? this.#choice.usual.retrieve : this.of(request, operation ?? operationOf(request)));
    const { projection, schema } = output;
    const unread = this.#representing === undefined && request ? stateOf(request).unread : undefined;
    if (unread === undefined || hasAllRelated(projection, entity)) return projection.readEntity(entity);
    const who = `${this.#declarations.view.name}: represent()`;
    const made = deferRecord({ entity, projection, who }, Object.keys(schema.properties));
    unread.push(made);
    return made.record;
  }

  /**
   * Chooses the output for the fields that a request selects.
   *
   * @throws InvalidUsage for a field that the output does not have
   */
  select(request: FastifyRequest, operation: OutputOperation): void {
    const complete = this.#decide(request, operation);
    outputsOf(request)[operation] = this.#selectedOf(complete, parametersOf(request));
  }

  /** Returns the full output that determines tags; undefined if there is none. */
  tagged(request: FastifyRequest): RecordOutput | undefined {
    const { taggedBy } = this;
    if (taggedBy === undefined) return undefined;
    return this.isOne ? this.#choice.usual[taggedBy] : bound(unselected(this.#decide(request, taggedBy)), request);
  }

  /** Reports whether an operation returns the record that determines the tag. */
  isUnselected(request: FastifyRequest, operation: OutputOperation): boolean {
    const { taggedBy } = this;
    if (taggedBy === undefined) return false;
    // The result of an override is unknown.
    if (operation !== taggedBy && this.#declarations.overrides.handles[taggedBy]) return false;
    return this.isOne || this.#decide(request, operation) === unselected(this.#decide(request, taggedBy));
  }

  #selectedOf(complete: RecordOutput, parameters: QueryParameters): RecordOutput {
    const { selections } = this.#declarations;
    const selection = selections?.read(parameters, complete.shape);
    if (selections === undefined || selection === undefined) return complete;
    const selected = getOrMake(this.#selected, complete, () => new LruMap<string, RecordOutput>(MAX_SELECTIONS));
    return getOrMake(selected, selection.text, () =>
      this.#make(complete.name, selections.select(complete.shape, selection), complete),
    );
  }

  #make(name: string, shape: ReadShape<object, object>, selectedFrom?: RecordOutput): RecordOutput {
    const { view, orm, meta, key, overrides } = this.#declarations;
    const { schema } = shape;
    const read = shape.bind(meta, orm.em.getPlatform());
    checkProjection(orm.em, read);
    const isPlain = read.related === undefined && read.paths.every(isPlainColumn);
    const isRepresented = overrides.represents;
    const takesRequest = read.forRequest !== undefined || (isRepresented && view.represent.length > 1);
    const outputFor = (request: FastifyRequest | undefined): RecordOutput => {
      const projection = (request && read.forRequest?.(request)) ?? read;
      const represent = (entity: object): object => this.#represent(view, entity, request, output);
      const records = isRepresented ? ofEntities(projection, represent) : projection;
      const keyed = withKey(records, key);
      const forRequest = takesRequest ? outputFor : undefined;
      const output = { name, shape, schema, selectedFrom, projection, records, keyed, isPlain, forRequest };
      return output;
    };
    return outputFor(undefined);
  }

  /** Calls an override of `represent`, which is synchronous. Its calls of the inherited method use the same output. */
  #represent(view: OutputView, entity: object, request: FastifyRequest | undefined, output: RecordOutput): object {
    const outer = this.#representing;
    this.#representing = output;
    try {
      return requireSync(view.represent(entity, request), () => `${view.name}: represent()`);
    } finally {
      this.#representing = outer;
    }
  }
}

/** Returns the output for a request. It is the same object each time, because loaded children are kept for it. */
function bound(output: RecordOutput, request: FastifyRequest): RecordOutput {
  if (output.forRequest === undefined) return output;
  const known = (stateOf(request).boundOutputs ??= new Map<RecordOutput, RecordOutput>());
  const made = known.get(output) ?? output.forRequest(request);
  known.set(output, made);
  return made;
}

function unselected(output: RecordOutput): RecordOutput {
  return output.selectedFrom ?? output;
}

/** The outputs that a view has chosen for a request. */
function outputsOf(request: FastifyRequest): NonNullable<RequestState['outputs']> {
  return (stateOf(request).outputs ??= {});
}

/** The operation of a request. Actions return records like `retrieve`. */
function operationOf(request: FastifyRequest): OutputOperation {
  const action = request.routeOptions.config.viewset?.action ?? '';
  return isOutputOperation(action) ? action : 'retrieve';
}
