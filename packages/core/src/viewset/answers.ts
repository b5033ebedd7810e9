import type { EntityMetadata, MikroORM } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { atOnce } from '../awaitable.ts';
import { ImproperlyConfigured } from '../errors.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { ofEntities, withKey } from '../language/projection.ts';
import { describe } from '../options.ts';
import { checkProjection } from '../query/queryset.ts';
import type { ReadShape } from '../shapes/read-shape.ts';
import { type Answer, ANSWERING, type AnsweringOperation, isAnswering } from './answer.ts';
import { isPlainColumn } from './plain-column.ts';
import type { ShapesByName } from './read-shapes.ts';
import { type RequestState, stateOf } from './request-state.ts';

/** The hooks of a view that decide its answers. */
export interface AnsweringView {
  readonly name: string;
  represent(entity: object): object;
  readShapeFor(request: FastifyRequest, operation: AnsweringOperation): string | undefined;
}

/** The declarations of a view that decide its answers. */
interface AnswerDeclarations {
  readonly view: AnsweringView;
  readonly shapes: ShapesByName;
  readonly orm: MikroORM;
  readonly meta: EntityMetadata;
  /** The column whose value names a record. */
  readonly key: FieldPath;
  /** The hooks that the view overrides. */
  readonly overridden: readonly string[];
}

/**
 * Decides what each request is answered with: records of the shape of its operation, or of the one that `readShapeFor`
 * chooses. Every record that a view sends is read and serialized by one of these answers.
 */
export class Answers {
  readonly #view: AnsweringView;
  readonly #own: Readonly<Record<AnsweringOperation, Answer>>;
  /** Those that `readShapeFor` may choose, by name. */
  readonly #alternatives: ReadonlyMap<string, Answer>;
  readonly #isChosen: boolean;
  /** True if every request is answered by one shape. */
  readonly #isOne: boolean;
  /** The answer that an override of `represent` makes a record for, while it runs. */
  #representing: Answer | undefined;

  constructor(declarations: AnswerDeclarations) {
    const { view, shapes, overridden } = declarations;
    this.#view = view;
    this.#isChosen = overridden.includes('readShapeFor');
    const made = new Map<ReadShape<object, object>, Answer>();
    const answerOf = (key: string, name = key): Answer => {
      const shape = shapes.get(key)!;
      const answer = made.get(shape) ?? this.#make(name, shape, declarations);
      made.set(shape, answer);
      return answer;
    };
    // The usual shape is made first, so that what is the same shape goes by its name.
    const usual = ['default', 'retrieve', ...shapes.keys()].find((name) => shapes.has(name))!;
    answerOf(usual, 'default');
    const own = ANSWERING.map((operation) => [operation, answerOf(shapes.has(operation) ? operation : usual)] as const);
    this.#own = Object.fromEntries(own) as Record<AnsweringOperation, Answer>;
    const others = [...shapes.keys()].filter((name) => name !== 'default' && !isAnswering(name));
    this.#alternatives = new Map(others.map((name) => [name, answerOf(name)]));
    this.#isOne = made.size === 1;
  }

  /** The answer of an operation that nothing in a request has changed. */
  own(operation: AnsweringOperation): Answer {
    return this.#own[operation];
  }

  /** The to-one relations that the declared answers need loaded of an entity. */
  get populate(): readonly string[] {
    const all = [...Object.values(this.#own), ...this.#alternatives.values()];
    return [...new Set(all.flatMap(({ projection }) => projection.populate))];
  }

  /** Lists the answers that requests for an operation may get, its own first. */
  possible(operation: AnsweringOperation): readonly Answer[] {
    return [...new Set([this.#own[operation], ...this.#alternatives.values()])];
  }

  /** Returns the answer of an operation to a request. */
  of(request: FastifyRequest, operation: AnsweringOperation): Answer {
    if (this.#isOne) return this.#own[operation];
    const answers = answersOf(request);
    return (answers[operation] ??= this.#isChosen ? this.#chosen(request, operation) : this.#own[operation]);
  }

  /** Returns the answer of the operation that a request asks for: of an action that of `retrieve`. */
  current(request: FastifyRequest): Answer {
    return this.of(request, operationOf(request));
  }

  /** Makes a record of an entity: for the answer that is being made, else for that of the request, else for retrieve's own. */
  readEntity(entity: object, request: FastifyRequest | undefined): object {
    const answer = this.#representing ?? (request === undefined ? this.#own.retrieve : this.current(request));
    return answer.projection.readEntity(entity);
  }

  /** Names the representation of a record that an operation answers with: empty for that of `retrieve`. */
  representationOf(request: FastifyRequest, operation: AnsweringOperation): string {
    return this.of(request, operation) === this.of(request, 'retrieve') ? '' : operation;
  }

  /**
   * Runs the work of a request, during which `retrieve` answers with a representation that `representationOf` has named.
   * Undefined, without any work, if there is none of the name.
   */
  async represented<Result>(
    request: FastifyRequest,
    representation: string,
    work: () => Promise<Result>,
  ): Promise<Result | undefined> {
    if (representation === '') return work();
    if (!isAnswering(representation)) return undefined;
    const answers = answersOf(request);
    const { retrieve } = answers;
    answers.retrieve = this.of(request, representation);
    try {
      return await work();
    } finally {
      answers.retrieve = retrieve;
    }
  }

  #chosen(request: FastifyRequest, operation: AnsweringOperation): Answer {
    const who = (): string => `${this.#view.name}: readShapeFor()`;
    const name = atOnce(this.#view.readShapeFor(request, operation), who);
    const answer = name === undefined ? this.#own[operation] : this.#alternatives.get(name);
    if (answer !== undefined) return answer;
    const names = [...this.#alternatives.keys()].join(', ') || 'nothing else';
    throw new ImproperlyConfigured(`${who()} must return undefined or one of ${names}, but ${describe(name)} came`);
  }

  #make(name: string, shape: ReadShape<object, object>, declarations: AnswerDeclarations): Answer {
    const { view, orm, meta, key, overridden } = declarations;
    const projection = shape.bind(meta, orm.em.getPlatform());
    checkProjection(orm.em, projection);
    const records = overridden.includes('represent')
      ? ofEntities(projection, (entity) => this.#represent(view, entity, answer))
      : projection;
    const keyed = withKey(records, key);
    const isPlain = projection.related === undefined && projection.paths.every(isPlainColumn);
    const answer: Answer = { name, schema: shape.schema, projection, records, keyed, isPlain };
    return answer;
  }

  /** Calls an override of `represent`, which is synchronous: what it asks of the inherited one is read for the same answer. */
  #represent(view: AnsweringView, entity: object, answer: Answer): object {
    const outer = this.#representing;
    this.#representing = answer;
    try {
      return atOnce(view.represent(entity), () => `${view.name}: represent()`);
    } finally {
      this.#representing = outer;
    }
  }
}

/** The answers to a request that its view has decided on. */
function answersOf(request: FastifyRequest): NonNullable<RequestState['answers']> {
  return (stateOf(request).answers ??= {});
}

/** The operation that a request asks for; an action answers with records as `retrieve` does. */
function operationOf(request: FastifyRequest): AnsweringOperation {
  const action = request.routeOptions.config.viewset?.action ?? '';
  return isAnswering(action) ? action : 'retrieve';
}
