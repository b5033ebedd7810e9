import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AsyncLocalStorage } from 'node:async_hooks';
import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from 'typebox';
import { isUnfiltered } from '../../backends/entity-filters.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { keyText } from '../../fields/primary-key.ts';
import { hintOf, isSameCondition } from '../../query/language/condition.ts';
import { isNativePath } from '../../query/language/native-term.ts';
import type { OrderKey } from '../../query/language/order.ts';
import type { Keyed } from '../../query/language/projection.ts';
import type { Paginator } from '../../pagination/paginator.ts';
import type { QueryParameters } from '../../http/parameters.ts';
import type { QuerySet } from '../../query/queryset.ts';
import { type RecordOutput, markShapedByClient } from '../../view/request/record-output.ts';
import { parametersOf } from '../../view/request/request-state.ts';
import type { LivePage, LiveQuestion, LiveRecord } from './live-list.ts';

/** The parts of a view that decide how its list is sent. */
export interface ListForm {
  readonly paginator: Paginator | null;
  /** Makes the schema of the list from the schema of a record. */
  readonly schemaOf: (record: TSchema) => TSchema;
  /** Makes the value of a list without pages. */
  readonly wrapList: (records: readonly unknown[]) => object;
}

interface QuestionSource {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly records: QuerySet<object>;
  readonly output: RecordOutput;
  readonly form: ListForm;
}

/** The connection that an entity manager reads from, which may depend on the asynchronous context. */
interface Place {
  /** The ORM's configuration, which all its entity managers share. */
  readonly config: object;
  readonly schema: string | undefined;
}

/** The list of one request, after its permissions, scope and filters were applied. */
export class ListQuestion implements LiveQuestion {
  readonly hint: string;
  readonly #source: QuestionSource;
  /** The parameters of the page, as texts. */
  readonly #page: string;
  /** False if the result may depend on more of the request than its query set. */
  readonly #isComparable: boolean;
  readonly #place: Place;
  /** Runs a function in the asynchronous context of the request. */
  readonly #within = AsyncLocalStorage.snapshot();

  constructor(source: QuestionSource) {
    this.#source = source;
    const { request, records, output, form } = source;
    this.#page = pageText(form.paginator, parametersOf(request));
    this.#isComparable =
      output.forRequest === undefined &&
      output.records.ofEntities !== true &&
      records.filters === undefined &&
      readsAlike(records.reader, records.meta);
    this.#place = { config: records.reader.config, schema: records.reader.schema };
    this.hint = `${records.meta.className} ${this.#page} ${hintOf(records.condition)}`;
  }

  isSameAs(other: LiveQuestion): boolean {
    if (this === other) return true;
    if (!(other instanceof ListQuestion) || !this.#isComparable || !other.#isComparable) return false;
    const [one, two] = [this.#source, other.#source];
    return (
      this.hint === other.hint &&
      one.form === two.form &&
      one.output === two.output &&
      one.records.meta === two.records.meta &&
      this.#place.config === other.#place.config &&
      this.#place.schema === other.#place.schema &&
      isSameOrder(one.records.order, two.records.order) &&
      isSameCondition(one.records.condition, two.records.condition)
    );
  }

  read(): Promise<LivePage> {
    return this.#within(() => this.#read());
  }

  async #read(): Promise<LivePage> {
    const { request, records, output, form } = this.#source;
    const found = markShapedByClient(records, output);
    const { paginator } = form;
    if (paginator === null) return this.#sent(form.wrapList(await found.rows(output.keyed)));
    const page = await paginator.paginate(found, output.keyed, parametersOf(request));
    return this.#sent(paginator.pageNames.apply(page));
  }

  get #cursorNames(): readonly (string | undefined)[] {
    const names = this.#source.form.paginator?.pageNames;
    return [names?.of('next_cursor'), names?.of('previous_cursor')];
  }

  /** Serializes a list like a GET, one record at a time. */
  #sent(list: object): LivePage {
    const { reply, output, form } = this.#source;
    const member = Array.isArray(list) ? undefined : memberOf(list, form.paginator?.pageNames.of('results'));
    const rows = (Array.isArray(list) ? list : member === undefined ? [] : list[member as never]) as Keyed<object>[];
    const write = (schema: TSchema, value: object): string =>
      reply.compileSerializationSchema(schema as TSchema & Record<string, unknown>)(value as Record<string, unknown>);
    const records = rows.map(({ key, record }): LiveRecord => ({
      key: keyText(key),
      json: write(output.schema, record),
    }));
    const all = `[${records.map(({ json }) => json).join(',')}]`;
    if (Array.isArray(list)) return { records, rest: '{}', mark: '', json: all };
    const empty = member === undefined ? list : { ...list, [member]: [] };
    const parts = Object.entries(JSON.parse(write(form.schemaOf(output.schema), empty)) as object);
    const without = parts.filter(([name]) => name !== member);
    const texts = parts.map(
      ([name, value]) => `${JSON.stringify(name)}:${name === member ? all : JSON.stringify(value)}`,
    );
    const marked = without.filter(([name]) => !this.#cursorNames.includes(name));
    const [rest, mark] = [without, marked].map((some) => JSON.stringify(Object.fromEntries(some))) as [string, string];
    return { records, rest, mark, json: `{${texts.join(',')}}` };
  }
}

/**
 * True if only the database and the schema decide what an entity manager reads: it has no filter, transaction or
 * session.
 */
function readsAlike(reader: EntityManager, meta: EntityMetadata): boolean {
  return isUnfiltered(reader, meta) && !reader.isInTransaction() && reader.getSessionContext() === undefined;
}

/** Finds the member of a list that holds its records. If every array is empty, prefers the usual name. */
function memberOf(list: object, usual: string | undefined): string | undefined {
  const members = Object.entries(list).filter(
    (member): member is [string, unknown[]] => Array.isArray(member[1]) && member[1].every(isKeyedRecord),
  );
  const found = members.find(([, { length }]) => length > 0) ?? members.find(([name]) => name === usual) ?? members[0];
  return found?.[0];
}

function isKeyedRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'key' in value && 'record' in value;
}

function isSameOrder(one: readonly OrderKey[], other: readonly OrderKey[]): boolean {
  const isSame = ({ path, descending }: OrderKey, index: number): boolean =>
    other[index] !== undefined && isSamePath(other[index].path, path) && other[index].descending === descending;
  return one.length === other.length && one.every(isSame);
}

function isSamePath(one: FieldPath, other: FieldPath): boolean {
  if (one === other) return true;
  if (!isNativePath(one) || !isNativePath(other)) return false;
  return one.native.term === other.native.term && isDeepStrictEqual(one.native.values, other.native.values);
}

function pageText(paginator: Paginator | null, parameters: QueryParameters): string {
  const names = paginator?.parameters.map(({ name }) => name) ?? [];
  return JSON.stringify(names.map((name) => [name, parameters.one(name) ?? null]));
}
