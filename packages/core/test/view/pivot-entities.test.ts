import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { many, ModelViewSet, nested, readShape, refs, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase, openMongo, skipMongo, SQL_DATABASES } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

/** People in teams, by a row that has a role and, as its key, the two relations or a number of its own. */
function entitiesBy(key: 'relations' | 'number') {
  const Person = defineEntity({
    name: 'Person',
    properties: {
      id: p.integer().primary(),
      email: p.string().length(20).unique(),
      teams: () => p.manyToMany(Team).pivotEntity(() => Member),
      members: () => p.oneToMany(Member).mappedBy('person').orphanRemoval(),
    },
  });
  const Team = defineEntity({
    name: 'Team',
    properties: {
      id: p.integer().primary(),
      name: p.string().length(20).unique(),
      people: () => p.manyToMany(Person).mappedBy('teams'),
    },
  });
  const isNumber = key === 'number';
  const relation = <Entity extends typeof Person | typeof Team>(entity: Entity) =>
    isNumber ? p.manyToOne(entity) : p.manyToOne(entity).primary();
  const Member = defineEntity({
    name: 'Member',
    properties: {
      ...((isNumber ? { id: p.integer().primary() } : {}) as { id: never }),
      person: () => relation(Person),
      team: () => relation(Team),
      role: p.string().length(10).default('guest'),
    },
  });
  return { Person, Team, Member, entities: [Person, Team, Member] as never };
}

const byRelations = entitiesBy('relations');
const byNumber = entitiesBy('number');

// MongoDB keeps a many to many as a list of keys.
forEachDatabase(t, { entities: byRelations.entities, only: SQL_DATABASES }, async (t, orm) => {
  t.test("references are written from both sides if the pivot's key consists of its two relations", async (t) => {
    const { Person, Team } = byRelations;
    class PersonViewSet extends ModelViewSet(Person, {
      read: readShape(Person, ['id', 'email'], { teams: many('teams.name') }),
      write: writeShape(Person, ['email'], { teams: refs('teams.name') }),
    }) {}
    class TeamViewSet extends ModelViewSet(Team, {
      read: readShape(Team, ['id', 'name'], { people: many('people.email') }),
      write: writeShape(Team, ['name'], { people: refs('people.email') }),
    }) {}
    const router = new Router().register('people', PersonViewSet).register('teams', TeamViewSet);
    const app = await testApp(t, orm, [router]);
    const send = async (method: 'POST' | 'PATCH', url: string, payload: object) => {
      const answer = await app.inject({ method, url, payload });
      t.ok(answer.statusCode < 300, answer.body);
      return answer.json<object>();
    };
    await send('POST', '/teams', { name: 'red', people: [] });
    await send('POST', '/people', { email: 'a@b.c', teams: ['red'] });
    t.match(await send('PATCH', '/teams/1', { people: [] }), { people: [] });
    t.match(await send('PATCH', '/teams/1', { people: ['a@b.c'] }), { people: ['a@b.c'] });
    t.match((await app.inject('/people')).json(), { results: [{ teams: ['red'] }] });
  });
});

forEachDatabase(t, { entities: byNumber.entities, only: SQL_DATABASES }, async (t, orm) => {
  const { Person, Team, Member } = byNumber;
  const starts = (View: ReturnType<typeof ModelViewSet>) =>
    testApp(t, orm, [new Router().register('views', View as never)]);

  t.test(
    'references through a pivot with a separate key fail at start, because every row would be written twice',
    async (t) => {
      const message = (relation: string) =>
        `${relation} cannot be written by refs(): Member has a key of its own, "id", so MikroORM writes each of its rows ` +
        'twice, once from each side; make its two relations its primary key, or write its records by nested()';
      class PersonViewSet extends ModelViewSet(Person, {
        read: readShape(Person, ['id']),
        write: writeShape(Person, ['email'], { teams: refs('teams.name') }),
      }) {}
      await t.rejects(starts(PersonViewSet as never), {
        name: 'ImproperlyConfigured',
        message: message('Person.teams'),
      });
      class TeamViewSet extends ModelViewSet(Team, {
        read: readShape(Team, ['id']),
        write: writeShape(Team, ['name', 'people'] as never),
      }) {}
      await t.rejects(starts(TeamViewSet as never), { name: 'ImproperlyConfigured', message: message('Team.people') });
    },
  );

  t.test('their records are written as children, and read through the relation', async (t) => {
    class PersonViewSet extends ModelViewSet(Person, {
      read: readShape(Person, ['id', 'email'], { teams: many('teams.name') }),
      write: writeShape(Person, ['email'], {
        members: nested(writeShape(Member, ['role'] as never, { team: 'team.name' } as never), { update: true }),
      } as never),
    }) {}
    await orm.em.fork().insert(Team, { id: 1, name: 'red' });
    const app = await testApp(t, orm, [new Router().register('people', PersonViewSet as never)]);
    const payload = { email: 'a@b.c', members: [{ team: 'red', role: 'lead' }] };
    const made = await app.inject({ method: 'POST', url: '/people', payload });
    t.equal(made.statusCode, 201, made.body);
    t.match(made.json(), { teams: ['red'] });
  });
});

t.test('MongoDB', { skip: skipMongo() }, async (t) => {
  const { Person, entities } = byNumber;
  const orm = await openMongo(t, { entities });
  class PersonViewSet extends ModelViewSet(Person, { read: readShape(Person, ['id']) }) {}
  await t.rejects(testApp(t, orm, [new Router().register('people', PersonViewSet)]), {
    name: 'ImproperlyConfigured',
    message:
      /Person is not supported on MongoDB: "teams" is a many to many with a pivot entity, where documents hold a list of keys/,
  });
});
