/** A schema says what is in a JSON column: of bodies in a write shape, of answers in a schema written by hand. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { Type } from 'typebox';
import { ModelViewSet, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

interface Car {
  year: number;
  tyres: string[];
}
const Team = defineEntity({
  name: 'Team',
  properties: {
    id: p.integer().primary(),
    car: p.json().$type<Car>().nullable(),
    colours: p.array().$type<string[]>().nullable(),
    league: p.enum(['one', 'two'] as const).default('one'),
  },
});
const CarSchema = Type.Object({
  year: Type.Integer({ minimum: 1900 }),
  tyres: Type.Array(Type.String(), { maxItems: 4 }),
});

class TeamViewSet extends ModelViewSet(Team, {
  read: Type.Object({
    id: Type.Integer(),
    car: Type.Union([CarSchema, Type.Null()]),
    colours: Type.Union([Type.Array(Type.String()), Type.Null()]),
    league: Type.Enum(['one', 'two']),
  }),
  write: writeShape(Team, ['league'], {
    car: Type.Optional(CarSchema),
    colours: Type.Optional(Type.Array(Type.String({ maxLength: 5 }))),
  }),
}) {}

forEachDatabase(t, { entities: [Team] }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('teams', TeamViewSet)]);
  const car = { year: 1967, tyres: ['soft'] };
  const post = async (payload: object) => app.inject({ method: 'POST', url: '/teams', payload });

  t.test('a client stores what the schema says, and nothing else', async (t) => {
    const made = await post({ car: { ...car, secret: 1 }, colours: ['red'], league: 'two' });
    t.strictSame([made.statusCode, made.json()], [201, { id: 1, car, colours: ['red'], league: 'two' }]);
    t.strictSame((await app.inject('/teams/1')).json(), made.json());
    t.strictSame((await orm.em.fork().findOneOrFail(Team, { id: 1 })).car, car, 'what is unknown is not stored');
    t.strictSame((await post({})).json(), { id: 2, car: null, colours: null, league: 'one' });
  });

  t.test('everything that is wrong is named with its place', async (t) => {
    const wrong = await post({ car: { year: 1800, tyres: [1] }, colours: ['yellow'], league: 'three' });
    t.equal(wrong.statusCode, 400);
    const places = wrong.json<{ details: { path: string }[] }>().details.map(({ path }) => path);
    t.strictSame(places.toSorted(), ['/car/tyres/0', '/car/year', '/colours/0', '/league']);
  });
});
