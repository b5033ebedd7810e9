import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import type { TObject } from 'typebox';
import { takeExportSlot } from './export-slots.ts';
import { checkNotGivenUp } from '../given-up.ts';
import { after } from '../language/condition.ts';
import { type Projection, withPosition } from '../language/projection.ts';
import { type QuerySet, slicedError } from '../query/queryset.ts';
import { type AnswerOf, byAuthor } from '../viewset/request/answer.ts';
import { csvWriter } from './csv-writer.ts';

/** The forms in which a list can be exported. */
export const EXPORTS = ['csv', 'ndjson'] as const;
/** A format in which a list can be exported. */
export type ExportFormat = (typeof EXPORTS)[number];

/** The media types of exports, by their forms. */
export const EXPORT_TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;

/** The media types of exports. */
export type ExportType = (typeof EXPORT_TYPES)[ExportFormat];

/** Records that the first statement reads, before it is known what they weigh. */
const FIRST_BATCH_SIZE = 25;
/** Records that one statement reads at most. */
const LARGEST_BATCH_SIZE = 500;
/** How many times as many records a batch may have as the one before. */
const BATCH_GROWTH = 5;
/** The length that the text of a batch should have, in characters. */
const BATCH_LENGTH = 256 * 1024;

/** The exports that a view offers. */
export class ListExport {
  readonly formats: readonly ExportFormat[];

  constructor(formats: readonly ExportFormat[]) {
    this.formats = formats;
  }

  /**
   * Answers with all records of a list, in their order and without pages. They are read in batches of some 256 KiB, each
   * where the last one has ended and none before the client has taken it, so that memory is flat, a slow client holds no connection of the database, and nothing more is read for one that goes away.
   * A record that is written meanwhile may be in it or not; none is twice in it, unless its place in the order has changed.
   */
  async send<Entity extends object>(
    request: FastifyRequest,
    reply: FastifyReply,
    type: ExportType,
    records: QuerySet<Entity>,
    answer: AnswerOf<object>,
  ): Promise<FastifyReply> {
    const { name = '', basename = 'list' } = request.routeOptions.config.viewset?.view ?? {};
    if (records.isSliced) throw slicedError(name, 'what filterQueryset() returns', 'an export');
    const { schema } = answer;
    const json = jsonWriter(reply, schema);
    const write = type === 'text/csv' ? csvWriter(schema, json) : lineWriter(json);
    // A HEAD reads one batch and is done.
    if (request.method !== 'HEAD') takeExportSlot(request, reply);
    const texts = textsOf(request, byAuthor(records, answer), answer.records, write);
    // An error of the first batch can still be answered as one, which is no file; a later one cuts the connection.
    const { value: first = '' } = await texts.next();
    const ending = type === 'text/csv' ? 'csv' : 'ndjson';
    void reply
      .type(type === 'text/csv' ? 'text/csv; charset=utf-8; header=present' : type)
      .header('content-disposition', `attachment; filename="${basename}.${ending}"`);
    if (request.method === 'HEAD') return reply.send(Readable.from([]));
    // Nothing is read ahead of the client: what it has not taken is one batch.
    return reply.send(Readable.from(begunWith(first, texts), { highWaterMark: 0 }));
  }
}

/** Yields the text of each batch, and keeps no record of it while the client reads. */
async function* textsOf<Entity extends object>(
  request: FastifyRequest,
  queryset: QuerySet<Entity>,
  records: Projection<object>,
  write: WriteBatch,
): AsyncGenerator<string, undefined> {
  const order = queryset.totalOrder();
  const projection = withPosition(records, order);
  const read = async (rest: QuerySet<Entity>, size: number, isFirst: boolean) => {
    const found = await rest.slice(0, size).rows(projection);
    const text = write(
      found.map(({ record }) => record),
      isFirst,
    );
    // Entities of a batch are of no use to the next.
    if (records.ofEntities === true) queryset.em.clear();
    return { text, last: found.length < size ? undefined : found.at(-1)!.position };
  };
  let rest = queryset;
  let size = FIRST_BATCH_SIZE;
  for (let isFirst = true; ; isFirst = false) {
    checkNotGivenUp(request);
    const { text, last } = await read(rest, size, isFirst);
    yield text;
    if (last === undefined) return undefined;
    rest = queryset.where(after(order, last));
    size = nextSize(size, text.length);
  }
}

/** Returns how many records weigh about as much as a batch should, by the batch before; a few times as many as it had at most. */
function nextSize(size: number, length: number): number {
  const fitting = Math.floor((size * BATCH_LENGTH) / Math.max(length, 1));
  return Math.max(1, Math.min(fitting, size * BATCH_GROWTH, LARGEST_BATCH_SIZE));
}

/** Writes records, the first of the list or later ones. */
type WriteBatch = (records: readonly object[], isFirst: boolean) => string;

async function* begunWith(first: string, others: AsyncGenerator<string, undefined>): AsyncGenerator<string> {
  yield first;
  yield* others;
}

/** Writes each record as JSON by the serializer of its schema, which every form of a list is made of: nothing else is sent. */
function jsonWriter(reply: FastifyReply, schema: TObject): (record: object) => string {
  const serialize = reply.compileSerializationSchema(schema as object as Record<string, unknown>);
  return (record) => serialize(record as Record<string, unknown>);
}

function lineWriter(json: (record: object) => string): WriteBatch {
  return (records) => records.map((record) => `${json(record)}\n`).join('');
}
