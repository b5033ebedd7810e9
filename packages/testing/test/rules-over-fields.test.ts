/** Views whose rules compare fields with each other. The suite changes the generated bodies until they fit. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import fastify from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { testApp, testViewSet } from '../src/index.ts';

const BookingSchema = defineEntity({
  name: 'Booking',
  properties: {
    id: p.integer().primary(),
    starts_on: p.date(),
    ends_on: p.date(),
    seats: p.integer(),
    used_seats: p.integer(),
    // Its schema has a format, and is no text.
    number: p.bigint('number'),
    kind: p.enum(['online', 'onsite'] as const),
    room: p.string().length(20).nullable(),
    link: p.string().length(20).nullable(),
  },
});
class Booking extends BookingSchema.class {}
BookingSchema.setClass(Booking);

const seats = Type.Integer({ minimum: 0, maximum: 20 });
const options = {
  read: readShape(Booking, ['id', 'starts_on', 'ends_on', 'seats', 'used_seats', 'number', 'kind', 'room', 'link']),
  write: writeShape(Booking, ['starts_on', 'ends_on', 'number', 'kind', 'room', 'link'], { seats, used_seats: seats }),
  orderingFields: { starts_on: 'starts_on' },
} as const;

type Rule = (
  booking: Booking,
) => readonly [path: '' | '/ends_on' | '/used_seats' | '/room', message: string] | undefined;

const RULES: readonly Rule[] = [
  ({ starts_on, ends_on }) => (ends_on > starts_on ? undefined : ['/ends_on', 'must be after starts_on']),
  ({ seats: all, used_seats }) => (used_seats <= all ? undefined : ['/used_seats', 'must not be more than seats']),
  ({ room, link }) => (room === null || link === null ? undefined : ['', 'have either a room or a link']),
];

/** Makes a view with rules, which see the values that a write leaves. */
function withRules(rules: readonly Rule[]) {
  return class BookingViewSet extends ModelViewSet(Booking, {
    ...options,
    validate: (_data, problems, _request, _record, after) => {
      for (const rule of rules) {
        const broken = rule({ room: null, link: null, ...after } as Booking);
        if (broken !== undefined) problems.add(...broken);
      }
    },
  }) {};
}

async function suite(View: ReturnType<typeof withRules>, body?: object) {
  const build = async (orm: MikroORM) => {
    const app = fastify(serverOptions());
    await app.register(viewset, { orm });
    await app.register(new Router({ prefix: 'api' }).register('bookings', View).plugin);
    return app;
  };
  const app = () => testApp(build, { entities: [Booking], database: 'sqlite' });
  const cases = await testViewSet(View, { app, ...(body !== undefined && { body: () => ({ ...body }) }) });
  const failed = new Map<string, string>();
  for (const { name, run } of cases) await run().catch((error: Error) => failed.set(name, error.message));
  return failed;
}

t.test('bodies follow rules over several fields', async (t) => {
  t.strictSame(await suite(withRules(RULES)), new Map());
});

t.test('a rule that no generated body satisfies is named', async (t) => {
  const impossible: Rule = ({ room }) => (room === 'Aula' ? undefined : ['/room', 'must be an open room']);
  const failed = await suite(withRules([...RULES, impossible]));
  t.match(
    failed.get('BookingViewSet: create stores what is sent'),
    /^testViewSet: a rule stops every generated body of POST \/api\/bookings: \/room must be an open room. Give values/,
  );
  const given = await suite(withRules([...RULES, impossible]), { room: 'Aula', link: null });
  t.notOk(given.has('BookingViewSet: create stores what is sent'), 'the option "body" helps');
});
