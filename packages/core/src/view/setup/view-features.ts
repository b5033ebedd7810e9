import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptedType } from '../../http/accepted-type.ts';
import { addVary } from '../../http/add-vary.ts';
import { requireSync } from '../../support/awaitable.ts';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import type { Condition } from '../../query/language/condition.ts';
import type { ParameterDeclaration } from '../../http/parameters.ts';
import { QuerySet, slicedError } from '../../query/queryset.ts';
import { byName, isWrite, type Operation, OPERATIONS, type OutputOperation, WRITES } from '../request/operation.ts';
import type { ShownRecords } from '../records/shown-records.ts';
import type { ConstraintMessages } from '../write/constraint-messages.ts';
import { checkNotifies, type ListenersByOperation } from '../write/write-listener.ts';
import type { Action } from './action.ts';
import type { DeclaredRoute, OperationHandler } from './declared-route.ts';
import type { DeletionMark } from '../records/deletion-mark.ts';
import type { WriteCondition } from '../write/write-condition.ts';
import type { WriteRecorder } from '../write/write-recorder.ts';
import type { FeatureParts, FeatureView, ListRepresentation } from './feature.ts';

type ResolvedFeature = FeatureParts & { readonly option: string };

const JSON_TYPE = 'application/json';

/** What the features of a view add to it, together. */
export class ViewFeatures {
  /** The actions of all features, by name. */
  readonly actions: ReadonlyMap<string, Action>;
  /** The listeners that get the written records. */
  readonly listeners: ListenersByOperation;
  /** Makes the recorder of some work of a request. Undefined if no feature records writes. */
  readonly recorder: { readonly option: string; of(request: FastifyRequest): WriteRecorder } | undefined;
  /** Undefined if deleted records leave the database. */
  readonly deletion: DeletionMark | undefined;
  /** Handles requests that write several records; undefined if the view accepts none. */
  readonly several: FeatureParts['several'];
  /** Compares the record that a request writes; undefined if there are no such conditions. */
  readonly writeCondition: WriteCondition | undefined;
  /** The messages of constraints; undefined if the view has none. */
  readonly refusals: ConstraintMessages | undefined;
  /** True if a feature leaves out records. */
  readonly narrows: boolean;
  readonly #name: string;
  /** All records of the view. */
  readonly #records: QuerySet<object>;
  readonly #features: readonly ResolvedFeature[];
  readonly #representations: readonly ListRepresentation[];
  readonly #conditions = new WeakMap<FastifyRequest, Condition>();

  /**
   * @throws ImproperlyConfigured for two features that record writes or have an action of the same name, and for a view
   * with writes that a feature would miss
   */
  constructor(view: FeatureView, features: readonly ResolvedFeature[]) {
    const { name, lists } = view;
    this.#name = name;
    this.#records = lists.records;
    this.#features = features;
    this.actions = actionsOf(name, features);
    this.listeners = byName(WRITES, (operation) =>
      features.flatMap(({ option, listeners }) => {
        const listener = listeners?.[operation];
        return listener === undefined ? [] : [{ option, listener }];
      }),
    );
    this.recorder = onlyOne(name, features, 'recorder', 'record writes', (of, option) => ({ option, of }));
    this.several = onlyOne(name, features, 'several', 'write several records', (handlers) => handlers);
    this.writeCondition = onlyOne(name, features, 'writeCondition', 'compare the records to write', (each) => each);
    this.deletion = onlyOne(name, features, 'deletion', 'delete records by a mark', (mark) => mark);
    this.refusals = onlyOne(name, features, 'refusals', 'have messages of constraints', (each) => each);
    this.narrows = features.some(({ narrow }) => narrow !== undefined);
    this.#representations = features.flatMap(({ representations }) => representations ?? []);
    for (const feature of features) checkWrites(view, feature);
  }

  /** True if the lists of the view can be followed. */
  get isLive(): boolean {
    return this.#representations.some(({ isLive }) => isLive);
  }

  /** Leaves out the records that do not exist for a request. */
  narrow<Entity extends object>(request: FastifyRequest, records: QuerySet<Entity>): QuerySet<Entity> {
    if (!this.narrows) return records;
    return records.where(getOrMake(this.#conditions, request, () => this.#conditionOf(request)));
  }

  /**
   * Returns the condition of the records that exist for a request. A list narrows its records more than once, by the
   * same condition.
   */
  #conditionOf(request: FastifyRequest): Condition {
    let found = this.#records.using(request);
    for (const { option, narrow } of this.#features) {
      if (narrow === undefined) continue;
      const owner = `${this.#name}: option "${option}": narrow()`;
      const narrowed: unknown = requireSync(narrow(request, found), () => owner);
      if (!(narrowed instanceof QuerySet) || narrowed.meta !== found.meta || narrowed.filters !== undefined) {
        throw new TypeError(`${owner} must return the records that it got, narrowed by filter() or exclude()`);
      }
      if (narrowed.isSliced) throw slicedError(this.#name, owner, 'its look-ups');
      found = found.where((narrowed as QuerySet<object>).condition);
    }
    return found.condition;
  }

  /** Returns the query parameters that features add to an operation. */
  parametersOf(operation: OutputOperation): readonly ParameterDeclaration[] {
    return this.#features.flatMap(({ parameters }) => parameters?.[operation] ?? []);
  }

  /** Changes how a route is declared, feature by feature. */
  extend(declared: DeclaredRoute): DeclaredRoute {
    return this.#features.reduce((route, { extend }) => extend?.(route) ?? route, declared);
  }

  /** Returns the further routes of the view. */
  routes(operations: readonly DeclaredRoute[]): readonly DeclaredRoute[] {
    return this.#features.flatMap(({ routes }) => routes?.(operations) ?? []);
  }

  /** Wraps the handler of an operation: the feature that was added first is the outermost. */
  around(operation: Operation, handler: OperationHandler): OperationHandler {
    return this.#features.reduceRight<OperationHandler>((next, { around }) => {
      const wrap = around?.[operation];
      return wrap === undefined ? next : (request, reply) => wrap(request, reply, () => next(request, reply));
    }, handler);
  }

  /**
   * Returns the form of a list that the path names (`/books.csv`) or that the request prefers to JSON. Undefined for
   * JSON.
   */
  representationFor({ headers, routeOptions }: FastifyRequest, reply: FastifyReply): ListRepresentation | undefined {
    const all = this.#representations;
    if (all.length === 0) return undefined;
    const { variant, action } = routeOptions.config.viewset ?? {};
    const named = variant === undefined ? undefined : all.find((each) => each.variant === variant);
    if (named !== undefined) return named;
    addVary(reply, 'Accept');
    // An action that lists has its own permissions, which a live list would not check again.
    const canFollow = (type: string): boolean =>
      action === 'list' && headers.accept?.toLowerCase().includes(type) === true;
    const offered = all.filter(({ isLive, type }) => isLive !== true || canFollow(type));
    const accepted = acceptedType(headers.accept, [JSON_TYPE, ...offered.map(({ type }) => type)]);
    return offered.find(({ type }) => type === accepted);
  }

  /** Finds what features need of other views, once all are registered. */
  findViews(registered: readonly ShownRecords[]): void {
    for (const { findViews } of this.#features) findViews?.(registered);
  }
}

/** @throws ImproperlyConfigured for an override by which writes would be missed */
function checkWrites(view: FeatureView, { option, listeners, recorder }: ResolvedFeature): void {
  for (const operation of view.operations.filter(isWrite)) {
    if (listeners?.[operation] === undefined && recorder === undefined) continue;
    checkNotifies(view, `${view.name}: the view has "${option}"`, operation);
  }
}

function actionsOf(name: string, features: readonly ResolvedFeature[]): ReadonlyMap<string, Action> {
  const actions = new Map<string, Action>();
  for (const feature of features) {
    for (const [action, declared] of feature.actions ?? []) {
      if ((OPERATIONS as readonly string[]).includes(action)) {
        throw new ImproperlyConfigured(
          `${name}: option "${feature.option}" makes an action with the name of an operation: "${action}"`,
        );
      }
      if (actions.has(action)) {
        throw new ImproperlyConfigured(`${name}: two of its options make an action "${action}"; leave one of them out`);
      }
      actions.set(action, declared);
    }
  }
  return actions;
}

/**
 * Returns the part that only one feature of a view may have.
 *
 * @throws ImproperlyConfigured if two features have it
 */
function onlyOne<Part extends 'recorder' | 'deletion' | 'several' | 'writeCondition' | 'refusals', Result>(
  name: string,
  features: readonly ResolvedFeature[],
  part: Part,
  both: string,
  make: (value: NonNullable<ResolvedFeature[Part]>, option: string) => Result,
): Result | undefined {
  const [first, second] = features.filter((feature) => feature[part] !== undefined);
  if (first === undefined) return undefined;
  if (second === undefined) return make(first[part]!, first.option);
  throw new ImproperlyConfigured(
    `${name}: the options "${first.option}" and "${second.option}" both ${both}; leave one of them out`,
  );
}
