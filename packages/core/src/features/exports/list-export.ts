import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { type TObject, type TSchema, Type } from 'typebox';
import { takeExportSlot } from './export-slots.ts';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { checkNotAborted } from '../../http/abort-state.ts';
import { after } from '../../query/language/condition.ts';
import { type Projection, withPosition } from '../../query/language/projection.ts';
import { type QuerySet, slicedError } from '../../query/queryset.ts';
import { type RecordOutputOf, markShapedByClient } from '../../view/request/record-output.ts';
import { csv, CsvFormat } from './csv-format.ts';
import { csvWriter } from './csv-writer.ts';

const FORMATS = ['csv', 'ndjson'] as const;
/** A format in which a list can be exported. */
export type ExportFormat = (typeof FORMATS)[number];

/** A format of the option `exports`. */
export type ExportOption = ExportFormat | CsvFormat;

/** The name of a format, which is the extension of its path. */
export type ExportNameOf<Option> = Option extends CsvFormat ? 'csv' : Option;

/** True for a format of the option `exports`. */
export function isExportOption(value: unknown): value is ExportOption {
  return value instanceof CsvFormat || FORMATS.includes(value as ExportFormat);
}

/** The media types of exports, by format. */
export const EXPORT_TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;

/** The media types of exports. */
export type ExportType = (typeof EXPORT_TYPES)[ExportFormat];

/** The records of the first batch, before their size is known. */
const FIRST_BATCH_SIZE = 25;
/** The most records of one batch. */
const LARGEST_BATCH_SIZE = 500;
/** The most growth of a batch over the one before, as a factor. */
const BATCH_GROWTH = 5;
/** The target length of a batch's text, in characters. */
const BATCH_LENGTH = 256 * 1024;

/** The export formats of a view. */
export class ListExport {
  /** The schema of each format's text, for documents. */
  readonly schemas: ReadonlyMap<ExportFormat, TSchema>;
  readonly #csv: CsvFormat;

  /** @throws ImproperlyConfigured for two exports in one format, which would have one path */
  constructor(name: string, exports: readonly ExportOption[]) {
    this.#csv = exports.find((item) => item instanceof CsvFormat) ?? csv();
    const schemas = new Map<ExportFormat, TSchema>();
    for (const item of exports) {
      const format = item instanceof CsvFormat ? 'csv' : item;
      if (schemas.has(format)) {
        throw new ImproperlyConfigured(
          `${name}: option "exports" must have each format once, but got "${format}" twice`,
        );
      }
      const description = format === 'csv' ? this.#csv.description : 'The whole list: a record of JSON on each line';
      schemas.set(format, Type.String({ contentMediaType: EXPORT_TYPES[format], description }));
    }
    this.schemas = schemas;
  }

  get formats(): readonly ExportFormat[] {
    return [...this.schemas.keys()];
  }

  /**
   * Sends all records of a list, in their order and without pages. They are read in batches of some 256 KiB. Each batch
   * starts after the last record of the one before, and is read only once the client has taken that one. So memory use
   * is flat, a slow client holds no database connection, and nothing more is read after a client disconnects. A record
   * that is written meanwhile may be included or not. No record comes twice, unless its position in the order has
   * changed.
   */
  async send<Entity extends object>(
    request: FastifyRequest,
    reply: FastifyReply,
    type: ExportType,
    records: QuerySet<Entity>,
    output: RecordOutputOf<object>,
  ): Promise<FastifyReply> {
    const { name = '', basename = 'list' } = request.routeOptions.config.viewset?.view ?? {};
    if (request.reader.isInTransaction()) {
      // Later batches would be read without the settings of the transaction, such as the user of row-level security.
      throw new ImproperlyConfigured(
        `${name}: an export outlasts the transaction that a hook has begun for its request, so it cannot be sent; ` +
          'set the user of row-level security by request.em.setSessionContext() instead',
      );
    }
    if (records.isSliced) throw slicedError(name, 'what filterQueryset() returns', 'an export');
    const { schema } = output;
    const json = jsonWriter(reply, schema);
    const write = type === 'text/csv' ? csvWriter(this.#csv, schema, json) : lineWriter(json);
    // A HEAD reads one batch only.
    if (request.method !== 'HEAD') takeExportSlot(request, reply);
    const texts = textsOf(request, markShapedByClient(records, output), output.records, write);
    // An error of the first batch still gives an error response, which is not a file. A later error closes the
    // connection.
    const { value: first = '' } = await texts.next();
    const ending = type === 'text/csv' ? 'csv' : 'ndjson';
    void reply
      .type(type === 'text/csv' ? 'text/csv; charset=utf-8; header=present' : type)
      .header('content-disposition', `attachment; filename="${basename}.${ending}"`);
    if (request.method === 'HEAD') return reply.send(Readable.from([]));
    // Nothing is read ahead of the client: at most one batch is pending.
    return reply.send(Readable.from(begunWith(first, texts), { highWaterMark: 0 }));
  }
}

/** Yields the text of each batch, and keeps no record while the client reads. */
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
    // The next batch does not need these entities.
    if (records.ofEntities === true) queryset.em.clear();
    return { text, last: found.length < size ? undefined : found.at(-1)!.position };
  };
  let rest = queryset;
  let size = FIRST_BATCH_SIZE;
  for (let isFirst = true; ; isFirst = false) {
    checkNotAborted(request);
    const { text, last } = await read(rest, size, isFirst);
    yield text;
    if (last === undefined) return undefined;
    rest = queryset.where(after(order, last));
    size = nextSize(size, text.length);
  }
}

/** Returns how many records fill a batch, estimated from the batch before. The growth is limited. */
function nextSize(size: number, length: number): number {
  const fitting = Math.floor((size * BATCH_LENGTH) / Math.max(length, 1));
  return Math.max(1, Math.min(fitting, size * BATCH_GROWTH, LARGEST_BATCH_SIZE));
}

/** Writes records. The first batch of a list may differ from later ones. */
type WriteBatch = (records: readonly object[], isFirst: boolean) => string;

async function* begunWith(first: string, others: AsyncGenerator<string, undefined>): AsyncGenerator<string> {
  yield first;
  yield* others;
}

/**
 * Writes each record as JSON with the serializer of its schema. Every format is made from this JSON, so nothing else is
 * sent.
 */
function jsonWriter(reply: FastifyReply, schema: TObject): (record: object) => string {
  const serialize = reply.compileSerializationSchema(schema as object as Record<string, unknown>);
  return (record) => serialize(record as Record<string, unknown>);
}

function lineWriter(json: (record: object) => string): WriteBatch {
  return (records) => records.map((record) => `${json(record)}\n`).join('');
}
