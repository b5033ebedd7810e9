import type { FastifyReply, FastifyRequest } from 'fastify';
import { namesAny, namesTag, type TagComparison } from '../../http/entity-tag.ts';
import { PreconditionFailed, PreconditionRequired } from '../../errors/errors.ts';
import { recordSentBy } from '../../view/output/sent-record.ts';
import { type RecordOutput, recordOf } from '../../view/request/record-output.ts';
import { forkRequest } from '../../view/request/request-for.ts';
import { stateOf } from '../../view/request/request-state.ts';
import { type FeatureView, STEPS } from '../../view/setup/feature.ts';
import type { VisibleRecords } from '../../view/records/visible-records.ts';
import type { WriteCondition } from '../../view/write/write-condition.ts';
import type { Preconditions } from './conditional-routes.ts';

type Row = Readonly<Record<string, unknown>>;

/**
 * Checks the `If-Match` and `If-None-Match` of requests that write a record. A record's tag is computed from the
 * response of `retrieve`, or of `update` if the view has no `retrieve`. See `RecordOutputs.taggedBy`.
 */
export class ConditionalWrites implements WriteCondition {
  readonly #view: FeatureView;
  readonly #preconditions: Preconditions | undefined;

  constructor(view: FeatureView, preconditions: Preconditions | undefined) {
    this.#view = view;
    this.#preconditions = preconditions;
  }

  get reason(): string | undefined {
    if (this.#preconditions === undefined) return undefined;
    return `${this.#view.name} has ETags, so that requests may have an If-Match`;
  }

  /** Reports whether a write has a condition to compare, or lacks a condition that the view requires. */
  appliesTo({ headers }: FastifyRequest): boolean {
    const preconditions = this.#preconditions;
    const { 'if-match': wanted, 'if-none-match': unwanted } = headers;
    if (preconditions === undefined) return isUnmet(wanted, unwanted);
    // `*` matches each record that exists, and a write of any other is a 404 by itself.
    if (wanted !== undefined && namesAny(wanted)) return unwanted !== undefined;
    return preconditions.isRequired || wanted !== undefined || unwanted !== undefined;
  }

  /**
   * Compares an `If-Match` with the record without a lock. If many clients write one record, most of them have an
   * outdated tag. With locks, each of them would hold a connection and block the clients that can write. The record is
   * read outside of `request.em`, which would otherwise keep the values.
   *
   * @throws PreconditionFailed for a tag that does not match; NotFound
   */
  async compare(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { 'if-match': wanted } = request.headers;
    if (this.#preconditions === undefined) return this.#refuseWithoutTags(request);
    // An outer transaction may already hold the lock.
    if (wanted === undefined || request.reader.isInTransaction()) return;
    if (!(await this.#matches(forkRequest(request), reply, wanted, 'strong'))) throw new PreconditionFailed();
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
    if (this.#view.overrides.findsRecord) await this.#records.lock(request);
  }

  /**
   * Compares the conditions of a request with the record. The caller must hold the record's lock.
   *
   * @throws PreconditionFailed; PreconditionRequired if the view requires an `If-Match` and there is none
   */
  async check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { 'if-match': wanted, 'if-none-match': unwanted } = request.headers;
    if (wanted === undefined && this.#preconditions?.isRequired === true) throw new PreconditionRequired();
    if (wanted !== undefined && !(await this.#matches(request, reply, wanted, 'strong'))) {
      throw new PreconditionFailed();
    }
    if (unwanted !== undefined && (await this.#matches(request, reply, unwanted, 'weak'))) {
      throw new PreconditionFailed('The record is one that If-None-Match names; nothing was written');
    }
  }

  /** Reports whether a tag of a header is that of the record. */
  async #matches(
    request: FastifyRequest,
    reply: FastifyReply,
    header: string,
    comparison: TagComparison,
  ): Promise<boolean> {
    if (namesAny(header)) return true;
    const { outputs, format, defaults } = this.#view;
    const output = outputs.tagged(request);
    if (output === undefined || this.#preconditions === undefined) return false;
    // The record was loaded for another response.
    if (!outputs.isOne) stateOf(request).object = undefined;
    const record = await this.#read(request, reply, output);
    if (record === undefined) return false;
    const schema = format.schemaOfOne(output.schema) as unknown as Record<string, unknown>;
    const text = reply.serializeInput(format.wrapOne(record), schema);
    return namesTag(header, defaults.tagOf(text), comparison);
  }

  /** Reads the record in the form that determines its tag. Undefined if `retrieve` returns no record. */
  async #read(request: FastifyRequest, reply: FastifyReply, output: RecordOutput): Promise<Row | undefined> {
    const { outputs, overrides, view } = this.#view;
    const isRetrieved = outputs.taggedBy === 'retrieve';
    const isMade = this.#records.seesEntity(request) || !output.isPlain;
    if (isRetrieved && (overrides.handles.retrieve || isMade)) {
      return recordSentBy((silent) => view.retrieve(request, silent), reply);
    }
    if (isMade) return (await recordOf(request, output, await this.#view.getObject(request))) as Row;
    return (await this.#records.read(request, output, output.records)) as Row;
  }

  get #records(): VisibleRecords<object> {
    return this.#view.view[STEPS].records;
  }
}

/** Reports whether the conditions of a request fail for every record that has no tag. */
function isUnmet(wanted: string | undefined, unwanted: string | undefined): boolean {
  return (wanted !== undefined && !namesAny(wanted)) || (unwanted !== undefined && namesAny(unwanted));
}
