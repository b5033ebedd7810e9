import { isDeepStrictEqual } from 'node:util';
import { defineEntity, p } from '@mikro-orm/core';
import fastify from 'fastify';
import t from 'tap';
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';

const Team = defineEntity({
  name: 'Team',
  properties: { id: p.integer().primary(), builder: p.string().length(20), car: p.json().nullable() },
});

const shapes = {
  read: readShape(Team, ['id', 'car'], { constructor: 'builder' }),
  write: writeShape(Team, ['builder', 'car']),
};

class TeamViewSet extends ModelViewSet(Team, shapes) {}

type Create = InstanceType<typeof TeamViewSet>['performCreate'];

/** Writes by the unit of work, since a hook is to see the entity. */
class WatchedTeamViewSet extends ModelViewSet(Team, shapes) {
  override performCreate(...call: Parameters<Create>): ReturnType<Create> {
    return super.performCreate(...call);
  }
}

forEachDatabase(t, { entities: [Team] }, async (t, orm) => {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm, health: false });
  await app.register(new Router().register('teams', TeamViewSet).register('watched', WatchedTeamViewSet).plugin);
  const car = {
    constructor: 'Lotus',
    prototype: { year: 1967, constructor: ['Ford', { prototype: null }] },
    toString: '49',
  };

  for (const url of ['/teams', '/watched']) {
    t.test(`a JSON column of ${url} keeps every name that is in the document`, async (t) => {
      const created = await app.inject({ method: 'POST', url, payload: { builder: 'Lotus', car } });
      t.equal(created.statusCode, 201, created.body);
      const { id, ...rest } = created.json<{ id: number }>();
      t.ok(isDeepStrictEqual(rest, { car, constructor: 'Lotus' }), created.body);
      t.equal((await app.inject(`${url}/${id}`)).body, created.body);
      const patch = { car: { prototype: 1, constructor: { name: 'x' } } };
      const updated = await app.inject({ method: 'PATCH', url: `${url}/${id}`, payload: patch });
      t.equal(updated.statusCode, 200, updated.body);
      t.ok(isDeepStrictEqual(updated.json<{ car: unknown }>().car, patch.car), updated.body);
    });
  }

  t.test('a number that would be stored as another, or as null, is refused with its place', async (t) => {
    const send = async (body: string) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await app.inject({ method: 'POST', url: '/teams', payload: body, headers });
      const { details, car: stored } = answer.json<{ details?: { path: string; message: string }[]; car?: unknown }>();
      return [answer.statusCode, details?.map(({ path, message }) => `${path} ${message}`) ?? stored];
    };
    const tooLarge = 'is a number that is too large';
    const rounded = 'is a whole number that would be rounded; send it as a text';
    t.strictSame(await send('{"builder":"Lotus","car":{"a":[1e400,-1e400],"b":1}}'), [
      400,
      [`/car/a/0 ${tooLarge}`, `/car/a/1 ${tooLarge}`],
    ]);
    t.strictSame(await send('{"builder":"much too long for it","car":[9007199254740993,{"a":-9007199254740993}]}'), [
      400,
      [`/car/0 ${rounded}`, `/car/1/a ${rounded}`],
    ]);
    t.strictSame(await send('{"builder":5,"car":9007199254740993}'), [
      400,
      ['/builder must be a string', `/car ${rounded}`],
    ]);
    t.strictSame(
      await send('{"builder":"Lotus","car":[9007199254740993.0,9.007199254740993e15,-90071992547409930E-1]}'),
      [400, [`/car/0 ${rounded}`, `/car/1 ${rounded}`, `/car/2 ${rounded}`]],
    );
    for (const exact of [
      '9007199254740991',
      '9.007199254740992e15',
      '9007199254740992',
      '1e22',
      '1152921504606847000',
      '0.12345678901234567',
    ]) {
      t.strictSame(await send(`{"builder":"Lotus","car":[${exact}]}`), [201, [Number(exact)]], exact);
    }
    const text = '{"a":"9007199254740993 \\" 9007199254740993"}';
    t.strictSame(await send(`{"builder":"Lotus","car":${text}}`), [201, JSON.parse(text)]);
  });
});
