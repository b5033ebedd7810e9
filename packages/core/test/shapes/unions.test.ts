/** What a body accepts, a response can contain: unions, formats and other keywords of schemas in every place. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { Type } from 'typebox';
import { action, computed, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Place = defineEntity({
  name: 'Place',
  properties: { id: p.integer().primary(), hours: p.json<unknown>().nullable(), people: p.json<unknown>().nullable() },
});
const Hours = Type.Union([Type.Object({ from: Type.String({ format: 'time' }) }), Type.Null()]);
const People = Type.Array(
  Type.Union([
    Type.Object({ name: Type.String() }),
    Type.Object({ name: Type.String(), email: Type.String({ format: 'email' }) }),
    Type.Object({ step: Type.Number({ multipleOf: 0.01 }) }),
    Type.Unsafe({ type: 'array', prefixItems: [Type.String({ format: 'date' }), Type.Integer()] }),
  ]),
);

class PlaceViewSet extends ModelViewSet(Place, {
  read: readShape(Place, ['id'], {
    hours: Hours,
    people: People,
    opens: computed(Hours, ['hours'], ({ hours }) => hours as { from: string } | null),
  }),
  write: writeShape(Place, [], { hours: Type.Optional(Hours), people: Type.Optional(People) }),
}) {
  echo = action({ methods: ['post'], body: People, response: People }, (request) => request.body as never);
}
class HandViewSet extends ModelViewSet(Place, {
  read: Type.Object({ id: Type.Integer(), hours: Hours, people: Type.Union([People, Type.Null()]) }),
}) {}

forEachDatabase(t, { entities: [Place] }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('places', PlaceViewSet).register('hand', HandViewSet)]);
  const people = [{ name: 'a' }, { name: 'b', email: 'b@example.com' }, { step: 0.29 }, ['2026-01-02', 7]];

  t.test('are stored and sent as they were sent', async (t) => {
    const hours = { from: '09:30:00' };
    const created = await app.inject({ method: 'POST', url: '/places', payload: { hours, people } });
    t.equal(created.statusCode, 201, created.body);
    const sent = { id: 1, hours, people, opens: hours };
    t.strictSame(created.json(), sent);
    t.strictSame((await app.inject('/places')).json<{ results: unknown }>().results, [sent]);
    t.strictSame((await app.inject('/hand/1')).json(), { id: 1, hours, people });
    const echoed = await app.inject({ method: 'POST', url: '/places/echo', payload: people });
    t.strictSame(echoed.json(), people, echoed.body);
  });

  t.test('null is null', async (t) => {
    const created = await app.inject({ method: 'POST', url: '/places', payload: { hours: null, people: [] } });
    t.strictSame(created.json(), { id: 2, hours: null, people: [], opens: null });
  });
});
