import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import {
  IsAuthenticated,
  ModelViewSet,
  PageNumberPagination,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import { fastify, type FastifyInstance } from 'fastify';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Type } from 'typebox';
import { openapi } from '../src/index.ts';

const KINDS = ['plain', 'with space', 'comma, "quote"', 'ümläut'] as const;

const PlaceSchema = defineEntity({
  name: 'Place',
  embeddable: true,
  properties: { street: p.string().length(200).nullable(), height: p.integer() },
});

const ExtremeSchema = defineEntity({
  name: 'Extreme',
  properties: {
    id: p.integer().primary(),
    integer: p.integer(),
    small: p.smallint(),
    big: p.bigint('bigint'),
    big_text: p.bigint('string'),
    big_number: p.bigint('number'),
    decimal_text: p.decimal('string').precision(20).scale(4),
    decimal_number: p.decimal('number').precision(8).scale(2),
    double: p.double(),
    text: p.text(),
    limited: p.string().length(5),
    kind: p.enum(KINDS),
    number_kind: p.enum([-1, 0, 32_767] as const),
    uuid: p.uuid(),
    date: p.date(),
    time: p.time(),
    datetime: p.datetime(3),
    flag: p.boolean(),
    json: p.json(),
    texts: p.array(),
    binary: p.blob(),
    place: () => p.embedded(PlaceSchema).nullable(),
    no_integer: p.integer().nullable(),
    no_big: p.bigint('string').nullable(),
    no_decimal: p.decimal('string').precision(20).scale(4).nullable(),
    no_double: p.double().nullable(),
    no_text: p.text().nullable(),
    no_kind: p.enum(KINDS).nullable(),
    no_uuid: p.uuid().nullable(),
    no_date: p.date().nullable(),
    no_time: p.time().nullable(),
    no_datetime: p.datetime(3).nullable(),
    no_flag: p.boolean().nullable(),
  },
});
export class Extreme extends ExtremeSchema.class {}
ExtremeSchema.setClass(Extreme);

const REQUIRED = [
  'integer',
  'small',
  'big',
  'big_text',
  'big_number',
  'decimal_text',
  'decimal_number',
  'double',
  'text',
  'kind',
  'number_kind',
  'uuid',
  'date',
  'time',
  'datetime',
  'flag',
  'json',
  'binary',
  'place',
] as const;
const NULLABLE = [
  'no_integer',
  'no_big',
  'no_decimal',
  'no_double',
  'no_text',
  'no_kind',
  'no_uuid',
  'no_date',
  'no_time',
  'no_datetime',
  'no_flag',
] as const;
const SHAPED = { limited: Type.String({ maxLength: 5 }), texts: Type.Array(Type.String()) };

/** A view with a column of each kind. */
export class ExtremeViewSet extends ModelViewSet(Extreme, {
  read: readShape(Extreme, ['id', ...REQUIRED, ...NULLABLE, 'limited', 'texts']),
  write: writeShape(Extreme, [...REQUIRED, ...NULLABLE], SHAPED),
  pagination: PageNumberPagination,
  maxPageSize: 1000,
}) {}

/** The clients for Go have tokens only if the document has routes that need one. */
class GuardedViewSet extends ModelViewSet(Extreme, {
  read: readShape(Extreme, ['id']),
  operations: ['list'],
  permissionClasses: [IsAuthenticated],
}) {}

/** What a client sent and read for one case. */
export interface Seen {
  /** The body of the request, as it came. */
  readonly sent: string;
  /** The record as the client read it, as JSON. */
  readonly read: string;
}

/** Builds the application, with routes where the programs get the cases and report what they have read. */
export async function buildExtremes(orm: MikroORM, seen: Map<string, Seen>): Promise<FastifyInstance> {
  const app = fastify(serverOptions());
  await app.register(openapi, { info: { title: 'Extremes', version: '1.0.0' } });
  await app.register(viewset, { orm });
  let sent = '';
  app.addHook('preParsing', async ({ url, method }, _reply, payload) => {
    const body = await buffer(payload);
    if (method === 'POST' && url === '/api/extremes') sent = body.toString();
    return Object.assign(Readable.from([body]), { receivedEncodedLength: body.length });
  });
  app.get('/cases', { schema: { hide: true } }, async () => CASES.map(([, text]) => text));
  app.post('/seen/*', { schema: { hide: true } }, async ({ params, body }) => {
    seen.set((params as { '*': string })['*'], { sent, read: String(body) });
    return {};
  });
  await app.register(
    new Router({ prefix: 'api' }).register('extremes', ExtremeViewSet).register('guarded', GuardedViewSet).plugin,
  );
  return app;
}

/** JSON texts of a value for each column, in its extreme forms. The last one stands in every other case. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  integer: ['-2147483648', '2147483647', '0'],
  small: ['-32768', '32767', '0'],
  big: ['"-9223372036854775808"', '"9223372036854775807"', '"0"'],
  big_text: ['"-9223372036854775808"', '"9223372036854775807"', '"0"'],
  big_number: ['-9007199254740991', '9007199254740991', '0'],
  decimal_text: ['"-9999999999999999.9999"', '"9999999999999999.9999"', '"0.0001"', '"1.0000"'],
  decimal_number: ['-999999.99', '999999.99', '0.01', '0'],
  double: ['-1.7976931348623157e308', '1.7976931348623157e308', '5e-324', '0.1', '1e21', '0'],
  text: [JSON.stringify('x'.repeat(100_000)), '" lead and trail "', '"\\u0001\\t\\r\\n\\"\\\\"', '"😀\u2028é"', '"x"'],
  limited: ['""', '"😀😀😀😀😀"', '"x"'],
  kind: KINDS.toReversed().map((kind) => JSON.stringify(kind)),
  number_kind: ['-1', '32767', '0'],
  uuid: [
    '"00000000-0000-0000-0000-000000000000"',
    '"ffffffff-ffff-ffff-ffff-ffffffffffff"',
    '"123e4567-e89b-42d3-a456-426614174000"',
  ],
  date: ['"0001-01-01"', '"9999-12-31"', '"2024-02-29"'],
  time: ['"00:00:00"', '"23:59:59"', '"12:30:00"'],
  datetime: [
    '"0001-01-01T00:00:00.000Z"',
    '"9999-12-31T23:59:59.999Z"',
    '"1969-12-31T23:59:59.999Z"',
    '"2024-02-29T12:00:00.000Z"',
  ],
  flag: ['true', 'false'],
  json: ['""', '0', 'false', '[]', '[null,[],{}]', '{"":{"a b":null}}', '{"nested":{"list":[1.5,"x",true]}}', '{}'],
  texts: ['[]', '["","null","NULL"," a , b ","\\"","\\\\"]', '["x"]'],
  binary: ['""', '"AP/+fw=="', '"eA=="'],
  place: ['{"street":"","height":-2147483648}', '{"street":null,"height":2147483647}', 'null'],
  no_integer: ['-2147483648', 'null'],
  no_big: ['"9223372036854775807"', 'null'],
  no_decimal: ['"-9999999999999999.9999"', 'null'],
  no_double: ['5e-324', 'null'],
  no_text: ['""', 'null'],
  no_kind: ['"comma, \\"quote\\""', 'null'],
  no_uuid: ['"ffffffff-ffff-ffff-ffff-ffffffffffff"', 'null'],
  no_date: ['"0001-01-01"', 'null'],
  no_time: ['"23:59:59"', 'null'],
  no_datetime: ['"9999-12-31T23:59:59.999Z"', 'null'],
  no_flag: ['false', 'null'],
};

/** Bodies as JSON texts: each extreme value once, with usual values beside it. */
export const CASES: readonly (readonly [name: string, text: string])[] = Object.entries(VALUES).flatMap(
  ([name, values]) =>
    values.slice(0, -1).map((value) => {
      const members = Object.entries(VALUES).map(([each, texts]) => [each, each === name ? value : texts.at(-1)!]);
      return [
        `${name}: ${value.slice(0, 40).replaceAll(/[^ -~]/g, '?')}`,
        `{${members.map(([key, text]) => `"${key}":${text}`).join()}}`,
      ] as const;
    }),
);
