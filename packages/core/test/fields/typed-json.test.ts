/** A schema says what is in a JSON column: of bodies in a write shape, of answers in a read shape or in a schema written by hand. */
import { defineEntity, p, raw } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { action, many, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
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
    drivers: () => p.oneToMany(Driver).mappedBy('team'),
  },
});
const Driver = defineEntity({
  name: 'Driver',
  properties: {
    id: p.integer().primary(),
    team: () => p.manyToOne(Team),
    laps: p.json().$type<unknown>(),
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

const Laps = Type.Array(Type.Object({ seconds: Type.Number() }));
const teamRead = readShape(Team, ['id'], {
  car: CarSchema,
  drivers: many(readShape(Driver, ['id'], { laps: Laps })),
});

class DerivedTeamViewSet extends ModelViewSet(Team, {
  read: { default: readShape(Team, ['id', 'car']), list: teamRead, retrieve: teamRead },
  write: writeShape(Team, ['car']),
  expand: { colours: Type.Array(Type.String()) },
  exports: ['csv'],
}) {
  years = action({ response: Type.Array(Type.Integer()) }, async (request) => {
    const teams = await this.rows(this.getQueryset(request), request);
    return teams.map((team) => team.car?.year ?? 0);
  });
}

class DriverViewSet extends ModelViewSet(Driver, {
  read: readShape(Driver, ['id'], { laps: Type.Optional(Laps), team: readShape(Team, [], { car: CarSchema }) }),
}) {}

const Sector = Type.Object({ seconds: Type.Integer({ maximum: 100 }), flag: Type.Optional(Type.Boolean()) });
const byHand = Type.Object({ id: Type.Integer(), laps: Sector });

class SectorViewSet extends ModelViewSet(Driver, { read: byHand, fields: true, exports: ['ndjson'] }) {}
class UnionViewSet extends ModelViewSet(Driver, {
  read: Type.Object({ laps: Type.Union([Sector, Type.Array(Type.String())]) }),
}) {}
class DerivedSectorViewSet extends ModelViewSet(Driver, { read: readShape(Driver, ['id'], { laps: Sector }) }) {}
class DriversOfTeamViewSet extends ModelViewSet(Team, {
  read: Type.Object({ id: Type.Integer(), drivers: Type.Array(byHand) }),
}) {}
class TeamOfDriverViewSet extends ModelViewSet(Driver, {
  read: Type.Object({ team: Type.Object({ car: Type.Union([CarSchema, Type.Null()]) }) }),
}) {}

const Started = Type.Object({ at: Type.String({ format: 'date-time' }) });
const startedWrite = writeShape(Driver, ['team']);

/** Stores a Date, which is a text in JSON. */
class StartedViewSet extends ModelViewSet(Driver, { read: Type.Object({ laps: Started }), write: startedWrite }) {
  override performCreate(request: FastifyRequest, data: object) {
    return super.performCreate(request, { ...data, laps: { at: new Date(0) } } as never);
  }
}

forEachDatabase(t, { entities: [Team, Driver] }, async (t, orm, kind) => {
  const routers = new Router()
    .register('sectors', SectorViewSet)
    .register('derived-sectors', DerivedSectorViewSet)
    .register('unions', UnionViewSet)
    .register('drivers-of-teams', DriversOfTeamViewSet)
    .register('teams-of-drivers', TeamOfDriverViewSet)
    .register('started', StartedViewSet)
    .register('teams', TeamViewSet)
    .register('derived', DerivedTeamViewSet)
    .register('drivers', DriverViewSet);
  const logged: string[] = [];
  const app = await testApp(t, orm, [routers], {
    before: (app) => void app.addHook('onError', async (_request, _reply, error) => void logged.push(error.message)),
  });
  const car = { year: 1967, tyres: ['soft'] };
  const post = async (payload: object) => app.inject({ method: 'POST', url: '/teams', payload });

  t.test('a client stores only properties of the schema', async (t) => {
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

  t.test('a response of a derived shape has only properties of the schema, also nested and in lists', async (t) => {
    const em = orm.em.fork();
    const full = { year: 1970, tyres: ['hard'], secret: 'x' } as Car;
    const team = em.create(Team, { car: full, colours: ['red'] });
    const bare = em.create(Team, { car: null });
    em.create(Driver, { team, laps: [{ seconds: 61.5, secret: 'x' }, { seconds: 60 }] });
    em.create(Driver, { team: bare, laps: [] });
    await em.flush();
    const shown = { year: 1970, tyres: ['hard'] };
    const laps = [{ seconds: 61.5 }, { seconds: 60 }];
    const expected = { id: team.id, car: shown, drivers: [{ id: 1, laps }] };
    const get = async (url: string): Promise<unknown> => (await app.inject(url)).json();
    t.strictSame(await get(`/derived/${team.id}`), expected);
    t.strictSame(await get(`/derived/${team.id}?expand=colours`), { ...expected, colours: ['red'] });
    t.strictSame(await get(`/derived/${bare.id}?expand=colours`), {
      id: bare.id,
      car: null,
      drivers: [{ id: 2, laps: [] }],
      colours: null,
    });
    t.match(await get('/derived?page_size=100'), { results: [{}, {}, expected, { car: null }] });
    t.strictSame(await get('/drivers/1'), { id: 1, laps, team: { car: shown } });
    t.strictSame(await get('/drivers/2'), { id: 2, laps: [], team: { car: null } });
    t.strictSame(await get('/derived/years'), [1967, 0, 1970, 0]);
    const csv = await app.inject({ url: '/derived', headers: { accept: 'text/csv' } });
    t.equal(csv.body.split('\r\n')[0], 'id,car.year,car.tyres,drivers');
    t.notMatch(csv.body, 'secret');
  });

  t.test('a value that does not fit returns 500, and the error names the column and the path', async (t) => {
    const em = orm.em.fork();
    const wrong: Readonly<Record<string, unknown>> = {
      '/year is required': { tyres: [] },
      '/year must be >= 1900': { year: 1800, tyres: [] },
      '/tyres/1 must be a string': { year: 1900, tyres: ['soft', 5] },
      'it must be an object': 'text',
    };
    const teams = Object.entries(wrong).map(([fault, held]) => [fault, em.create(Team, { car: held as Car })] as const);
    const slow = em.create(Driver, { team: 1, laps: [{ seconds: 'long' }] });
    await em.flush();
    for (const [fault, { id }] of teams) {
      logged.length = 0;
      const answer = await app.inject(`/derived/${id}`);
      t.equal(answer.statusCode, 500, fault);
      t.match(logged, [`Team.car does not fit its schema: ${fault}`]);
    }
    t.equal((await app.inject(`/drivers/${slow.id}`)).statusCode, 500);
    t.match(logged.at(-1), 'Driver.laps does not fit its schema: /0/seconds must be a number');
  });

  t.test(
    'a value that does not fit a schema written by hand returns 500, even if the serializer could convert it',
    async (t) => {
      const em = orm.em.fork();
      const wrong: Readonly<Record<string, unknown>> = {
        '/seconds must be an integer': { seconds: 1.5 },
        '/seconds must not be null': { seconds: null },
        '/flag must be a boolean': { seconds: 1, flag: 'no' },
        '/seconds must be <= 100': { seconds: 101 },
        '/seconds is required': {},
        'it must be an object': 'text',
      };
      const team = em.create(Team, {});
      const drivers = Object.entries(wrong).map(([fault, laps]) => [fault, em.create(Driver, { team, laps })] as const);
      const fine = em.create(Driver, { team: em.create(Team, {}), laps: { seconds: 60, flag: true, secret: 'x' } });
      await em.flush();
      for (const [fault, { id }] of drivers) {
        for (const url of [`/sectors/${id}`, `/sectors/${id}?fields=laps`, `/derived-sectors/${id}`]) {
          logged.length = 0;
          t.equal((await app.inject(url)).statusCode, 500, `${fault}: ${url}`);
          t.match(logged, [`Driver.laps does not fit its schema: ${fault}`]);
        }
      }
      logged.length = 0;
      t.equal((await app.inject(`/drivers-of-teams/${team.id}`)).statusCode, 500);
      t.match(logged, ['Driver.laps does not fit its schema: /seconds must be an integer']);
      logged.length = 0;
      t.equal((await app.inject(`/unions/${drivers[0]![1].id}`)).statusCode, 500);
      t.match(logged, ['Driver.laps does not fit its schema: /seconds must be an integer']);

      const laps = { seconds: 60, flag: true };
      const get = async (url: string): Promise<unknown> => (await app.inject(url)).json();
      t.strictSame(await get(`/sectors/${fine.id}`), { id: fine.id, laps });
      t.strictSame(await get(`/sectors/${fine.id}?fields=laps`), { laps });
      t.strictSame(await get(`/unions/${fine.id}`), { laps });
      t.strictSame(await get(`/drivers-of-teams/${fine.team.id}`), {
        id: fine.team.id,
        drivers: [{ id: fine.id, laps }],
      });
      t.strictSame(await get(`/teams-of-drivers/${fine.id}`), { team: { car: null } });
    },
  );

  t.test(
    'a column that is never NULL may hold the null of JSON, which its schema then has to let through',
    async (t) => {
      const em = orm.em.fork();
      const driver = em.create(Driver, { team: 1, laps: {} });
      await em.flush();
      await em.nativeUpdate(Driver, { id: driver.id }, { laps: kind === 'mongodb' ? null : raw("'null'") });
      for (const url of ['sectors', 'derived-sectors', 'unions']) {
        logged.length = 0;
        t.equal((await app.inject(`/${url}/${driver.id}`)).statusCode, 500, url);
        t.match(logged, [/^Driver\.laps does not fit its schema: it must/]);
      }
    },
  );

  t.test('a hook may store a value that becomes JSON only in the database', async (t) => {
    const made = await app.inject({ method: 'POST', url: '/started', payload: { team: 1 } });
    t.strictSame([made.statusCode, made.json()], [201, { laps: { at: '1970-01-01T00:00:00.000Z' } }], made.body);
  });

  t.test('a schema that cannot be of the column is refused where the shape is made', async (t) => {
    const unknown = Type.Unsafe<Car>({ type: 'object', maxWheels: 4 });
    t.throws(() => readShape(Team, ['id'], { car: unknown }), {
      message: 'Team.car: The body schema cannot be compiled: unknown keyword: "maxWheels"',
    });
    // @ts-expect-error -- misspelt
    t.throws(() => readShape(Team, ['id'], { carr: CarSchema }), { message: /did you mean "car"/ });
    // @ts-expect-error -- a relation is a shape of its records
    t.throws(() => readShape(Driver, ['id'], { team: CarSchema }), { message: /"team" must be/ });
  });
});
