import type { FastifyReply, FastifyRequest } from 'fastify';
import { namesAny, namesTag, type TagComparison } from '../../entity-tag.ts';
import { PreconditionFailed, PreconditionRequired } from '../../errors.ts';
import { always, type Condition } from '../../language/condition.ts';
import type { Seen } from '../../language/projection.ts';
import { answerOf } from '../answers/answer-of.ts';
import { type Answer, recordOf } from '../request/answer.ts';
import { forkRequest } from '../request/request-for.ts';
import { stateOf } from '../request/request-state.ts';
import type { WritingDefinition } from './writing-definition.ts';
import type { VisibleRecords } from '../visible/visible-records.ts';

/** The part of a view that finds the records to tag. */
interface TaggedView {
  getObject(request: FastifyRequest): Promise<object>;
  retrieve(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

/**
 * Checks the `If-Match` and `If-None-Match` of requests that write a record. A record's tag is computed from the
 * response of `retrieve`, or of `update` if the view has no `retrieve`. See `Answers.taggedBy`.
 */
export class ConditionalWrites<Entity extends object> {
  readonly #view: TaggedView;
  readonly #definition: WritingDefinition;
  readonly #records: VisibleRecords<Entity>;

  constructor(view: TaggedView, definition: WritingDefinition, records: VisibleRecords<Entity>) {
    this.#view = view;
    this.#definition = definition;
    this.#records = records;
  }

  /** Reports whether a write has a condition, or lacks a condition that the view requires. */
  appliesTo({ headers }: FastifyRequest): boolean {
    const { preconditions } = this.#definition;
    const { 'if-match': wanted, 'if-none-match': unwanted } = headers;
    if (preconditions !== undefined) return preconditions.isRequired || wanted !== undefined || unwanted !== undefined;
    return isUnmet(wanted, unwanted);
  }

  /**
   * Compares an `If-Match` with the record without a lock. If many clients write one record, most of them have an
   * outdated tag. With locks, each of them would hold a connection and block the clients that can write. The record is
   * read outside of `request.em`, which would otherwise keep the values.
   *
   * @returns a condition that is true while the record is as compared; undefined if it must be compared under its lock
   * @throws PreconditionFailed for a tag that does not match; NotFound
   */
  async compare(request: FastifyRequest, reply: FastifyReply): Promise<Condition | undefined> {
    const { 'if-match': wanted, 'if-none-match': unwanted } = request.headers;
    if (this.#definition.preconditions === undefined) return this.#refuseWithoutTags(request);
    // An outer transaction may already hold the lock.
    if (wanted === undefined || request.reader.isInTransaction()) return undefined;
    const seen = await this.#match(forkRequest(request), reply, wanted, 'strong');
    if (seen === undefined) throw new PreconditionFailed();
    return unwanted === undefined ? seen.unchanged : undefined;
  }

  /** A record without a tag matches `*` and no tag. A record that does not exist is a 404 first. */
  async #refuseWithoutTags(request: FastifyRequest): Promise<never> {
    await this.#view.getObject(request.reader.isInTransaction() ? request : forkRequest(request));
    throw new PreconditionFailed('The record has no entity tag; nothing was written');
  }

  /**
   * Locks the record before an override of getObject runs, because the override may not lock it. MikroORM then returns
   * the values that were read under the lock.
   */
  async lock(request: FastifyRequest): Promise<void> {
    if (this.#definition.customized.findsRecord) await this.#records.lock(request);
  }

  /**
   * Compares the conditions of a request with the record. The caller must hold the record's lock.
   *
   * @throws PreconditionFailed; PreconditionRequired if the view requires an `If-Match` and there is none
   */
  async check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { 'if-match': wanted, 'if-none-match': unwanted } = request.headers;
    if (wanted === undefined && this.#definition.preconditions?.isRequired === true) throw new PreconditionRequired();
    const isNamed = async (header: string, comparison: TagComparison): Promise<boolean> =>
      (await this.#match(request, reply, header, comparison)) !== undefined;
    if (wanted !== undefined && !(await isNamed(wanted, 'strong'))) throw new PreconditionFailed();
    if (unwanted !== undefined && (await isNamed(unwanted, 'weak'))) {
      throw new PreconditionFailed('The record is one that If-None-Match names; nothing was written');
    }
  }

  /** Compares the record with the tags of a header. Undefined if none matches. */
  async #match(
    request: FastifyRequest,
    reply: FastifyReply,
    header: string,
    comparison: TagComparison,
  ): Promise<Pick<Seen<object>, 'unchanged'> | undefined> {
    if (namesAny(header)) return { unchanged: always };
    const { answers, envelope, preconditions } = this.#definition;
    const answer = answers.tagged(request);
    if (answer === undefined || preconditions === undefined) return undefined;
    // The record was loaded for another response.
    if (!answers.isOne) stateOf(request).object = undefined;
    const seen = await this.#read(request, reply, answer);
    if (seen === undefined) return undefined;
    const schema = envelope.schemaOfOne(answer.schema) as unknown as Record<string, unknown>;
    const text = reply.serializeInput(envelope.wrapOne(seen.record), schema);
    return namesTag(header, preconditions.tagOf(text), comparison) ? seen : undefined;
  }

  /** Reads the record in the form that determines its tag. Undefined if `retrieve` returns no record. */
  async #read(
    request: FastifyRequest,
    reply: FastifyReply,
    answer: Answer,
  ): Promise<Seen<Record<string, unknown>> | undefined> {
    const { answers, customized } = this.#definition;
    const isRetrieved = answers.taggedBy === 'retrieve';
    const isMade = this.#records.seesEntity(request) || !answer.isPlain;
    if (isRetrieved && (customized.handles.retrieve || isMade)) {
      const record = await answerOf((silent) => this.#view.retrieve(request, silent), reply);
      return record && { record, unchanged: undefined };
    }
    if (isMade) {
      const record = await recordOf(request, answer, await this.#view.getObject(request));
      return { record: record as Record<string, unknown>, unchanged: undefined };
    }
    return (await this.#records.read(request, answer, answer.seen)) as Seen<Record<string, unknown>>;
  }
}

/** Reports whether the conditions of a request fail for every record that has no tag. */
function isUnmet(wanted: string | undefined, unwanted: string | undefined): boolean {
  return (wanted !== undefined && !namesAny(wanted)) || (unwanted !== undefined && namesAny(unwanted));
}
