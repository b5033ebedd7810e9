/** MikroORM's filters, against what `em.find` makes of them. */
import { defineEntity, p, raw, type EntityManager, type EntityName, type MikroORM } from '@mikro-orm/core';
import t from 'tap';
import { fieldPath } from '../../src/fields/field-path.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { type DatabaseName, forEachDatabase } from '../support/databases.ts';
import { recordQueries } from './record-queries.ts';

const Group = defineEntity({
  name: 'Group',
  tableName: 'groups',
  properties: { id: p.integer().primary(), name: p.string(), gone: p.boolean().default(false) },
  filters: { live: { name: 'live', cond: { gone: false }, default: true } },
});

const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    age: p.integer().nullable(),
    tenant: p.integer().default(1),
    maybe: () => p.manyToOne(Group).nullable(),
    must: () => p.manyToOne(Group),
    unfiltered: () => p.manyToOne(Group).nullable().filters(false),
    groups: () => p.manyToMany(Group),
    boss: () => p.manyToOne(Person).nullable(),
    staff: () => p.oneToMany(Person).mappedBy('boss'),
  },
  filters: {
    adult: { name: 'adult', cond: { age: { $gte: 18 } }, default: false },
    tenant: { name: 'tenant', cond: (args: { id: number }) => ({ tenant: args.id }), default: false },
    named: { name: 'named', cond: async (args: { like: string }) => ({ name: { $like: args.like } }), default: false },
  },
});

const Strict = defineEntity({
  name: 'Strict',
  properties: { id: p.integer().primary(), of: () => p.manyToOne(Hidden).nullable() },
});
const Hidden = defineEntity({
  name: 'Hidden',
  properties: { id: p.integer().primary(), shown: p.boolean() },
  filters: { shown: { name: 'shown', cond: { shown: true }, default: true, strict: true } },
});

const entities = [Group, Person, Strict, Hidden];

/** What `em.find` finds on SQL, by what it was asked. */
const onSql = new Map<string, unknown>();

/** MikroORM applies no filters of related records on MongoDB: what it finds on SQL is to be found there too. */
async function foundOnSql<Found>(database: DatabaseName, name: string, find: () => Promise<Found>): Promise<Found> {
  if (database !== 'mongodb') onSql.set(name, await find());
  return onSql.get(name) as Found;
}

forEachDatabase(t, { entities }, async (t, orm, database) => {
  const em = orm.em.fork();
  const live = em.create(Group, { name: 'live' });
  const gone = em.create(Group, { name: 'gone', gone: true });
  const boss = em.create(Person, {
    name: 'boss',
    age: 50,
    must: live,
    maybe: live,
    unfiltered: gone,
    groups: [live, gone],
  });
  em.create(Person, { name: 'maybe gone', age: 17, must: live, maybe: gone, groups: [gone], boss });
  em.create(Person, { name: 'must gone', age: 30, must: gone, maybe: live, boss });
  em.create(Person, { name: 'other tenant', age: null, must: live, tenant: 2, boss });
  em.create(Strict, { of: em.create(Hidden, { shown: true }) });
  em.create(Strict, { of: em.create(Hidden, { shown: false }) });
  em.create(Strict, {});
  await em.flush();

  const people = (manager: EntityManager = orm.em.fork()) => QuerySet.of(manager, Person).orderBy('id');

  t.test('a record is seen where em.find sees it', async (t) => {
    const expected = await foundOnSql(database, 'seen', async () => {
      const found = await orm.em.fork().find(Person, {}, { orderBy: { id: 1 }, populate: ['maybe', 'must'] });
      return found.map(({ name, maybe, must }) => [name, maybe?.name ?? null, must.name]);
    });
    t.strictSame(await people().rows(fields(orm, 'name', 'maybe.name', 'must.name')), expected);
    t.equal(await people().count(), await foundOnSql(database, 'count', () => orm.em.fork().count(Person)));
    t.strictSame(
      expected.map(([name]) => name),
      ['boss', 'maybe gone', 'other tenant'],
      'what needs a hidden record is hidden',
    );
    const entities = await people().entities({ populate: ['maybe', 'must'] });
    t.strictSame(
      entities.map(({ name, maybe, must }) => [name, maybe?.name ?? null, must.name]),
      expected,
      'as entities',
    );
  });

  t.test('the count of a page is that of the visible records, with any columns', async (t) => {
    for (const names of [['name'], ['name', 'maybe.name'], ['boss.must.name', 'boss.maybe']]) {
      const { rows, count } = await people()
        .slice(0, 2)
        .page(fields(orm, ...names));
      t.strictSame([rows.length, count], [2, 3], names.join());
    }
  });

  t.test('a hidden record reads as NULL, its key too', async (t) => {
    const read = fields(orm, 'name', 'maybe', 'maybe.id', 'unfiltered', 'unfiltered.name');
    t.strictSame(await people().rows(read), [
      ['boss', live.id, live.id, gone.id, 'gone'],
      ['maybe gone', null, null, null, null],
      ['other tenant', null, null, null, null],
    ]);
    t.equal(await people().filter({ maybe__isnull: true }).count(), 2);
    t.equal(await people().filter({ maybe: gone.id }).count(), 0);
    t.equal(await people().filter({ maybe__name: 'gone' }).count(), 0);
    t.strictSame((await people().orderBy('maybe__name', 'id').rows(fields(orm, 'name'))).flat(), [
      'boss',
      'maybe gone',
      'other tenant',
    ]);
    const [, second] = await people().entities();
    t.equal(second?.maybe, null, 'in an entity too');
  });

  t.test('hidden records of a relation to many are left out', async (t) => {
    t.strictSame((await people().filter({ groups__name__isnull: false }).rows(fields(orm, 'name'))).flat(), ['boss']);
    t.equal(await people().filter({ groups__name: 'gone' }).count(), 0);
    t.equal(await people().filter({ groups: gone.id }).count(), 0);
    t.strictSame((await people().exclude({ groups: live.id }).rows(fields(orm, 'name'))).flat(), [
      'maybe gone',
      'other tenant',
    ]);
  });

  t.test('a strict filter hides the owner as well', async (t) => {
    const strict = QuerySet.of(orm.em.fork(), Strict);
    const expected = await foundOnSql(database, 'strict', () => orm.em.fork().count(Strict));
    t.equal(await strict.count(), expected);
    const found = await foundOnSql(
      database,
      'strict entities',
      async () => (await orm.em.fork().find(Strict, {})).length,
    );
    t.equal((await strict.entities()).length, found);
  });

  t.test('a strict filter that is added at run time hides the owner as well', async (t) => {
    const strict = (em: EntityManager): void =>
      em.addFilter({ name: 'live and named', cond: { name: 'live' }, entity: Group, strict: true });
    const [ours, theirs] = [orm.em.fork(), orm.em.fork()];
    strict(ours);
    strict(theirs);
    const expected = await foundOnSql(database, 'strict at run time', async () =>
      (await theirs.find(Person, {}, { orderBy: { id: 1 } })).map(({ name }) => name),
    );
    t.strictSame(expected, ['boss', 'other tenant']);
    t.strictSame((await people(ours).rows(fields(orm, 'name'))).flat(), expected);
    t.equal(await people(ours).count(), expected.length);
  });

  t.test('a filter that the global entity manager is given holds at once', async (t) => {
    const global = orm.em as EntityManager;
    const read = async (): Promise<unknown[]> =>
      (await people({ em: orm.em.fork(), reader: global } as never).rows(fields(orm, 'name'))).flat();
    t.equal((await read()).length, 3);
    global.addFilter({ name: 'late', cond: () => ({ name: 'boss' }), entity: Person });
    t.notOk(Object.hasOwn(global, 'addFilter'), 'no method of the ORM is replaced');
    t.strictSame(await read(), ['boss']);
    global.addFilter({ name: 'late', cond: {}, entity: Person });
    t.equal((await read()).length, 3);
  });

  t.test('filters that are switched on, with parameters', async (t) => {
    const fork = orm.em.fork();
    fork.addFilter({ name: 'grown', cond: { age: { $gte: 18 } }, entity: Person });
    t.strictSame((await people(fork).rows(fields(orm, 'name'))).flat(), ['boss']);
    const tenants = orm.em.fork();
    tenants.addFilter({ name: 'ours', cond: (args) => ({ tenant: Number(args['tenant']) }), entity: Person });
    tenants.setFilterParams('ours', { tenant: 2 });
    t.strictSame((await people(tenants).rows(fields(orm, 'name'))).flat(), ['other tenant']);
    t.equal(await people(tenants).count(), 1);
    tenants.setFilterParams('ours', { tenant: 3 });
    t.equal(await people(tenants).exists(), false, 'each time with the parameters of the moment');
    const missing = orm.em.fork();
    missing.addFilter({ name: 'ours', cond: (args) => ({ tenant: Number(args['tenant']) }), entity: Person });
    await t.rejects(people(missing).count(), {
      message: /the filter "ours" of Person has no parameters: .* request\.em\.setFilterParams/,
    });
  });

  t.test('a filter that only MikroORM can express becomes a sub-select', async (t) => {
    const fork = orm.em.fork();
    fork.addFilter({
      name: 'named',
      cond: async () => ({ name: { $like: '%gone%' }, must: { name: 'live' } }),
      entity: Person,
    });
    const queries = recordQueries(orm);
    t.strictSame((await people(fork).rows(fields(orm, 'name'))).flat(), ['maybe gone']);
    // MongoDB has none.
    if (database !== 'mongodb') t.match(queries.texts[0], / in \(select /);
    queries.stop();
    fork.addFilter({ name: 'groups', cond: { name: { $like: 'l%' } }, entity: Group });
    t.strictSame(
      await people(fork).rows(fields(orm, 'name', 'maybe.name')),
      [['maybe gone', null]],
      'in a join as well',
    );
  });

  t.test('other filters are part of the statement', async (t) => {
    const conditions = [
      { age: { $ne: 50 } },
      { age: { $in: [17, 30] } },
      { age: null },
      { age: { $ne: null } },
      { $or: [{ age: 17 }, { $and: [{ age: { $gt: 17 } }, { tenant: { $lte: 1 } }] }] },
      { maybe: { $eq: null } },
      { must: 1, tenant: { $gte: 1, $lt: 2 } },
    ];
    for (const cond of conditions) {
      const [ours, theirs] = [orm.em.fork(), orm.em.fork()];
      for (const fork of [ours, theirs]) fork.addFilter({ name: 'test', cond: cond as object, entity: Person });
      const queries = recordQueries(orm);
      const found = (await people(ours).rows(fields(orm, 'name'))).flat();
      t.notMatch(queries.texts[0], / in \(select "/, JSON.stringify(cond));
      queries.stop();
      const expected = await foundOnSql(database, JSON.stringify(cond), async () =>
        (await theirs.find(Person, {}, { orderBy: { id: 1 } })).map(({ name }) => name),
      );
      t.strictSame(found, expected, JSON.stringify(cond));
    }
  });
});

forEachDatabase(t, { entities: [Group, Person], orm: { filtersOnRelations: false } }, async (t, orm) => {
  const em = orm.em.fork();
  const gone = em.create(Group, { name: 'gone', gone: true });
  em.create(Person, { name: 'one', must: gone, maybe: gone });
  await em.flush();
  t.test('filters on relations can be switched off', async (t) => {
    const people = QuerySet.of(orm.em.fork(), Person);
    t.strictSame(await people.rows(fields(orm, 'name', 'maybe.name')), [['one', 'gone']]);
    t.equal(await QuerySet.of(orm.em.fork(), Group).count(), 0);
  });
});

const Team = defineEntity({
  name: 'Team',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    ended: p.boolean().default(false),
    above: () => p.manyToOne(Team).nullable(),
    members: () => p.oneToMany(Member).mappedBy('team'),
  },
  filters: { running: { name: 'running', cond: { ended: false }, default: true } },
});
const Member = defineEntity({
  name: 'Member',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    gone: p.boolean().default(false),
    team: () => p.manyToOne(Team).nullable(),
  },
  filters: { live: { name: 'live', cond: { gone: false }, default: true } },
});

forEachDatabase(t, { entities: [Team, Member] }, async (t, orm, database) => {
  const em = orm.em.fork();
  const running = em.create(Team, { name: 'a' });
  const ended = em.create(Team, { name: 'a', ended: true });
  em.create(Team, { name: 'below', above: running });
  em.create(Team, { name: 'below the ended one', above: ended });
  em.create(Member, { name: 'one', team: running });
  em.create(Member, { name: 'two', team: ended });
  em.create(Member, { name: 'gone', team: running, gone: true });
  em.create(Member, { name: 'alone' });
  await em.flush();

  t.test('filters of a related entity hide it from conditions that use the relation', async (t) => {
    const asked = [
      [Member, { team: { name: 'a' } }, 1],
      [Member, { team: { name: { $like: 'a%' } } }, 1],
      [Member, { $not: { team: { name: 'b' } } }, 1],
      [Member, { team: { above: { name: 'a' } } }, 0],
      [Team, { members: { name: 'gone' } }, 0],
      [Team, { members: { name: 'one' } }, 1],
    ] as const;
    for (const [asking, cond, count] of asked) {
      const entity = asking as EntityName<object>;
      const [ours, theirs] = [orm.em.fork(), orm.em.fork()];
      for (const fork of [ours, theirs]) fork.addFilter({ name: 'test', cond: cond as object, entity });
      const about = JSON.stringify(cond);
      const found = QuerySet.of(ours, entity);
      t.equal(await found.count(), count, about);
      t.equal((await found.entities()).length, count, about);
      const expected = await foundOnSql(database, about, async () => (await theirs.find(entity, {})).length);
      t.equal(expected, count, `${about} as em.find has it`);
    }
  });

  t.test('the same is true for $some and $none, although MikroORM includes hidden records', async (t) => {
    for (const [cond, count] of [
      [{ members: { $some: { name: 'gone' } } }, 0],
      [{ members: { $none: { name: 'one' } } }, 2],
    ] as const) {
      const fork = orm.em.fork();
      fork.addFilter({ name: 'test', cond: cond as object, entity: Team });
      t.equal(await QuerySet.of(fork, Team).count(), count, JSON.stringify(cond));
    }
  });

  t.test('a hidden record that keeps others hidden keeps them hidden, as in em.find', async (t) => {
    const asked = [
      [{ name: 'a', members: { $none: { name: 'gone' } } }, []],
      [{ name: 'a', members: { $every: { name: 'one' } } }, []],
      [{ name: 'a', $not: { members: { $some: { name: 'gone' } } } }, []],
      [{ name: 'a', members: { $none: { name: 'two' } } }, [running.id]],
    ] as const;
    for (const [cond, ids] of asked) {
      const [ours, theirs] = [orm.em.fork(), orm.em.fork()];
      for (const fork of [ours, theirs]) fork.addFilter({ name: 'test', cond: cond as object, entity: Team });
      const about = JSON.stringify(cond);
      const filtered = await QuerySet.of(ours, Team).entities();
      t.strictSame(filtered.map(keyOf), ids, `${about} as a filter`);
      const matched = await QuerySet.of(orm.em.fork(), Team).matching(cond).entities();
      t.strictSame(matched.map(keyOf), ids, `${about} as a condition`);
      const expected = await foundOnSql(database, about, async () => (await theirs.find(Team, {})).map(keyOf));
      t.strictSame(expected, ids, `${about} as em.find has it`);
    }
  });

  t.test('a filter does not treat a reference to a hidden record as NULL, with any columns', async (t) => {
    const asked: [object, string[]][] = [
      [{ $or: [{ team: null }, { team: { name: 'b' } }] }, ['alone']],
      [{ team: null }, ['alone']],
      [{ team: { $eq: null } }, ['alone']],
      [{ team: { $exists: false } }, ['alone']],
      [{ $not: { team: { $ne: null } } }, ['alone']],
      [{ team: { id: null } }, ['alone']],
      [{ team: { $ne: null } }, ['one', 'two']],
      [{ team: ended.id }, ['two']],
    ];
    for (const [cond, names] of asked) {
      const [ours, theirs] = [orm.em.fork(), orm.em.fork()];
      for (const fork of [ours, theirs]) fork.addFilter({ name: 'test', cond, entity: Member });
      const about = JSON.stringify(cond);
      for (const read of [['name'], ['name', 'team.name']]) {
        const rows = await QuerySet.of(ours, Member)
          .orderBy('id')
          .rows(fieldsOf(orm, Member as EntityName<object>, ...read));
        t.strictSame(
          rows.map(([name]) => name),
          names,
          `${about}, reading ${read.join()}`,
        );
      }
      const expected = await foundOnSql(database, about, async () =>
        (await theirs.find(Member, {}, { orderBy: { id: 1 } })).map(({ name }) => name),
      );
      t.strictSame(expected, names, `${about} as em.find has it`);
    }
  });

  t.test('a filter on the parent of the same entity does not recurse forever', async (t) => {
    const fork = orm.em.fork();
    fork.addFilter({ name: 'test', cond: { $or: [{ above: null }, { above: { name: 'a' } }] }, entity: Team });
    t.equal(await QuerySet.of(fork, Team).filter({ above__name: 'a' }).count(), 1);
    t.equal(await QuerySet.of(fork, Member).filter({ team__name: 'a' }).count(), 1);
  });
});

const Rule = defineEntity({
  name: 'Rule',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    settings: p.json<object>().nullable(),
    uses: () => p.oneToMany(Use).mappedBy('rule'),
    loudUses: () =>
      p
        .oneToMany(Use)
        .mappedBy('rule')
        .where({ [raw('upper(name)')]: 'A' }),
  },
});
const Use = defineEntity({
  name: 'Use',
  properties: { id: p.integer().primary(), name: p.string(), rule: () => p.manyToOne(Rule).nullable() },
});

forEachDatabase(t, { entities: [Rule, Use] }, async (t, orm, database) => {
  const em = orm.em.fork();
  const rules = [
    em.create(Rule, { name: 'a', settings: { tenant: 1, of: { city: 'K' } } }),
    em.create(Rule, { name: 'B', settings: { tenant: 2 } }),
    em.create(Rule, { name: 'c' }),
  ];
  for (const rule of rules) em.create(Use, { name: rule.name, rule });
  await em.flush();
  const isSql = database !== 'mongodb';

  t.test('a filter that consists of SQL fragments only applies, like that of a JSON column', async (t) => {
    const asked: [string, () => object, number[]][] = [
      ['JSON', () => ({ settings: { tenant: 1 } }), [1]],
      ['JSON, deeper', () => ({ settings: { of: { city: 'K' } } }), [1]],
      ['JSON of a related record', () => ({ rule: { settings: { tenant: 1 } } }), [1]],
    ];
    const ofSql: typeof asked = [
      ['a fragment', () => ({ [raw('lower(name)')]: 'b' }), [2]],
      ['a fragment with an alias', () => ({ [raw((alias) => `lower(${alias}.name)`)]: 'b' }), [2]],
      ['one of a related record', () => ({ rule: { [raw((alias) => `lower(${alias}.name)`)]: 'b' } }), [2]],
    ];
    for (const [about, cond, ids] of isSql ? [...asked, ...ofSql] : asked) {
      const ofUse = 'rule' in cond();
      const entity = (ofUse ? Use : Rule) as unknown as EntityName<{ id: number }>;
      const fork = () => {
        const forked = orm.em.fork();
        forked.addFilter({ name: 'test', cond, entity });
        return forked;
      };
      t.strictSame((await QuerySet.of(fork(), entity).entities()).map(keyOf), ids, about);
      t.equal(await QuerySet.of(fork(), entity).count(), ids.length, about);
      const expected = await foundOnSql(database, about, async () => (await fork().find(entity, {})).map(keyOf));
      t.strictSame(expected, ids, `${about} as em.find has it`);
      if (ofUse) continue;
      const rows = await QuerySet.of(fork(), Use)
        .filter({ rule__isnull: false })
        .rows(fieldsOf(orm, Use as EntityName<object>, 'id', 'rule.name'));
      t.strictSame(
        rows.map(([id]) => id),
        ids,
        `${about}, of related records`,
      );
    }
  });

  t.test('such a "where" option of a relation applies', { skip: isSql ? false : 'MongoDB knows no SQL' }, async (t) => {
    const found = await QuerySet.of(orm.em.fork(), Rule).filter({ loudUses__isnull: false }).entities();
    t.strictSame(found.map(keyOf), [1]);
  });

  t.test('a fragment of SQL on MongoDB is an error, and no filter that lets all through', async (t) => {
    if (isSql) return;
    const fork = orm.em.fork();
    fork.addFilter({ name: 'test', cond: () => ({ [raw('lower(name)')]: 'b' }), entity: Rule });
    await t.rejects(QuerySet.of(fork, Rule).count(), {
      name: 'ImproperlyConfigured',
      message: 'Rule: a fragment of SQL cannot be asked of MongoDB',
    });
  });
});

function keyOf({ id }: { readonly id: number }): number {
  return id;
}

function fields(orm: MikroORM, ...names: string[]) {
  return fieldsOf(orm, Person as EntityName<object>, ...names);
}

function fieldsOf(orm: MikroORM, entity: EntityName<object>, ...names: string[]) {
  const meta = orm.getMetadata().get(entity);
  return {
    paths: names.map((name) => fieldPath(meta, name, '.')),
    readRow: (row: readonly unknown[]) => row,
    readEntity: () => [] as readonly unknown[],
    populate: [],
  };
}
