import {
  ForeignKeyConstraintViolationException,
  LockMode,
  p,
  defineEntity,
  UniqueConstraintViolationException,
} from '@mikro-orm/core';
import t from 'tap';
import { QuerySet } from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';

type Json = object | string;

const Maker = defineEntity({ name: 'Maker', properties: { id: p.integer().primary(), name: p.string().unique() } });
const Label = defineEntity({ name: 'Label', properties: { id: p.bigint().primary(), name: p.string() } });
const Thing = defineEntity({
  name: 'Thing',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    code: p.string().nullable().unique(),
    shelf: p.integer().nullable(),
    place: p.integer().nullable(),
    stock: p.integer().default(7),
    price: p.decimal('number').precision(10).scale(2).nullable(),
    data: p.json<Json>().nullable(),
    maker: () => p.manyToOne(Maker),
    second: () => p.manyToOne(Maker).nullable(),
    labels: () => p.manyToMany(Label),
  },
  uniques: [{ properties: ['shelf', 'place'] }],
});
const Part = defineEntity({
  name: 'Part',
  properties: { id: p.integer().primary(), thing: () => p.manyToOne(Thing).deleteRule('cascade') },
});

const Task = defineEntity({
  name: 'Task',
  properties: {
    id: p.integer().primary(),
    parent: () => p.manyToOne(Task).nullable().deleteRule('cascade'),
    origin: () => p.manyToOne(Task).nullable().deleteRule('no action'),
  },
});

const Rumour = defineEntity({
  name: 'Rumour',
  properties: { id: p.integer().primary(), maker: () => p.manyToOne(Maker).createForeignKeyConstraint(false) },
});

forEachDatabase(t, { entities: [Maker, Label, Thing, Part, Task, Rumour] }, async (t, orm, database) => {
  const fork = () => orm.em.fork();
  const maker = async (name: string) => {
    const em = fork();
    const made = em.create(Maker, { name });
    await em.flush();
    return made.id;
  };

  t.test('integer keys are counted', async (t) => {
    const first = await maker('first');
    t.equal(await maker('second'), first + 1);
    const em = fork();
    const [third, fourth] = [em.create(Maker, { name: 'third' }), em.create(Maker, { name: 'fourth' })];
    const label = em.create(Label, { name: 'new' });
    await em.flush();
    t.strictSame([third.id, fourth.id], [first + 2, first + 3], 'of several at once');
    t.equal(label.id, 1n, 'as bigints too');
    t.equal((await fork().findOneOrFail(Maker, { name: 'third' })).id, first + 2);
  });

  t.test('a number is never used twice', { skip: database !== 'mongodb' }, async (t) => {
    const first = await maker('before a crash');
    const crash = fork().transactional(async (em) => {
      await em.insert(Maker, { name: 'counted, and never stored' });
      throw new Error('crash');
    });
    await t.rejects(crash, { message: 'crash' });
    t.equal(await maker('after a crash'), first + 2, 'a gap is left');
    const beyond = 2n ** 53n + 1n;
    await fork().insert(Label, { id: beyond, name: 'of a key that no double holds' });
    const em = fork();
    const [next, last] = [em.create(Label, { name: 'next' }), em.create(Label, { name: 'last' })];
    await em.flush();
    t.strictSame([next.id, last.id], [beyond + 1n, beyond + 2n]);
  });

  t.test('many at once get a key each', async (t) => {
    const ids = await Promise.all(Array.from({ length: 30 }, (_, index) => maker(`many ${index}`)));
    t.equal(new Set(ids).size, 30);
  });

  t.test('a reference names a record that exists, in inserts and updates', async (t) => {
    const em = fork();
    em.create(Thing, { name: 'lost', maker: em.getReference(Maker, 99_999) });
    await t.rejects(em.flush(), ForeignKeyConstraintViolationException);
    t.equal(await fork().count(Thing, { name: 'lost' }), 0, 'nothing is left of it');
    const other = fork();
    const thing = other.create(Thing, { name: 'known', maker: await maker('of known') });
    await other.flush();
    thing.second = other.getReference(Maker, 99_999);
    await t.rejects(other.flush(), ForeignKeyConstraintViolationException);
    t.equal((await fork().findOneOrFail(Thing, { name: 'known' })).second, null);
  });

  t.test('a record that others refer to is not deleted under them', async (t) => {
    const [first, second] = [await maker('kept'), await maker('second of it')];
    const em = fork();
    const label = em.create(Label, { name: 'red' });
    const thing = em.create(Thing, { name: 'holder', maker: first, second, labels: [label] });
    em.create(Part, { thing });
    await em.flush();
    await t.rejects(fork().nativeDelete(Maker, { id: first }), ForeignKeyConstraintViolationException);
    const deleting = fork();
    deleting.remove(deleting.getReference(Maker, first));
    await t.rejects(deleting.flush(), ForeignKeyConstraintViolationException);
    t.equal(await fork().nativeDelete(Maker, { id: second }), 1, 'a nullable reference is set to NULL');
    t.equal(await fork().nativeDelete(Label, { id: label.id }), 1, 'a record of a set leaves it');
    const now = await fork().findOneOrFail(Thing, { name: 'holder' }, { populate: ['labels'] });
    t.strictSame([now.second, now.labels.length], [null, 0]);
    t.equal(await fork().count(Part), 1);
    t.equal(await fork().nativeDelete(Thing, { name: 'holder' }), 1);
    t.equal(await fork().count(Part), 0, 'deleted along with it');
    t.equal(await fork().nativeDelete(Maker, { id: first }), 1, 'nobody refers to it now');
  });

  t.test('a reference without a constraint is not kept', async (t) => {
    const id = await maker('rumoured');
    await fork().insert(Rumour, { maker: 99_999 });
    await fork().insert(Rumour, { maker: id });
    t.equal(await fork().nativeDelete(Maker, { id }), 1);
    t.equal(await fork().count(Rumour, { maker: id }), 1);
  });

  t.test('a ring of records that go along with each other is deleted', async (t) => {
    const em = fork();
    const first = em.create(Task, {});
    const second = em.create(Task, { parent: first });
    await em.flush();
    first.parent = second;
    await em.flush();
    t.equal(await fork().nativeDelete(Task, { id: first.id }), 1);
    t.equal(await fork().count(Task), 0);
  });

  t.test('records that refer to one another are deleted together, unless a further one refers to them', async (t) => {
    const em = fork();
    const first = em.create(Task, {});
    const [second, third] = [em.create(Task, { origin: first }), em.create(Task, { origin: first })];
    await em.flush();
    const keys = [first.id, second.id];
    await t.rejects(fork().nativeDelete(Task, { id: { $in: keys } }), ForeignKeyConstraintViolationException);
    t.equal(await fork().count(Task), 3);
    t.equal(await fork().nativeDelete(Task, { id: { $in: [...keys, third.id] } }), 3);
  });

  t.test('a reference and the deletion of its record never both happen', async (t) => {
    for (let round = 0; round < 10; round++) {
      const id = await maker(`race ${round}`);
      const [created] = await Promise.allSettled([
        fork().insert(Thing, { name: `race ${round}`, stock: 1, maker: id }),
        fork().nativeDelete(Maker, { id }),
      ]);
      const [things, makers] = [await fork().count(Thing, { maker: id }), await fork().count(Maker, { id })];
      t.strictSame([things, makers], created.status === 'fulfilled' ? [1, 1] : [0, 0]);
    }
  });

  t.test('unique values are unique, and NULL is allowed any number of times', async (t) => {
    const em = fork();
    const owner = await maker('of uniques');
    em.create(Thing, { name: 'a', maker: owner });
    em.create(Thing, { name: 'b', maker: owner, shelf: 1 });
    em.create(Thing, { name: 'c', maker: owner, shelf: 1 });
    const taking = em.create(Thing, { name: 'd', maker: owner, code: 'x', shelf: 2, place: 2 });
    await em.flush();
    const insert = (data: object) => fork().insert(Thing, { name: 'e', stock: 1, maker: owner, ...data });
    await t.rejects(insert({ code: 'x' }), UniqueConstraintViolationException);
    await t.rejects(insert({ shelf: 2, place: 2 }), UniqueConstraintViolationException);
    taking.code = null;
    await em.flush();
    await t.resolves(insert({ code: 'x' }), 'a value that was given up is free again');
    const now = await fork().findOneOrFail(Thing, { name: 'd' });
    t.strictSame([now.code ?? null, now.stock], [null, 7]);
  });

  t.test('JSON with any keys is stored unchanged', async (t) => {
    const values = [
      { $inc: 5 },
      { $re: '.' },
      { $gt: '' },
      { 'a.b': { $set: 1 } },
      { _bsontype: 'Long', low: 1 },
      [{ $inc: 1 }],
      'text',
    ];
    const owner = await maker('of json');
    for (const data of values) {
      const em = fork();
      const thing = em.create(Thing, { name: 'json', maker: owner, data });
      await em.flush();
      t.strictSame((await fork().findOneOrFail(Thing, thing.id)).data, data, JSON.stringify(data));
      thing.data = { before: true };
      await em.flush();
      thing.data = data;
      await em.flush();
      t.strictSame((await fork().findOneOrFail(Thing, thing.id)).data, data, `${JSON.stringify(data)} by an update`);
    }
  });

  t.test('an update returns the number of matched records, changed or not', async (t) => {
    const id = await maker('same');
    t.equal(await fork().nativeUpdate(Maker, { id }, { name: 'same' }), 1);
    t.equal(await fork().nativeUpdate(Maker, { id }, { name: 'same' }), 1);
    t.equal(await fork().nativeUpdate(Maker, { id: 99_999 }, { name: 'none' }), 0);
  });

  t.test('decimals and bigints are exact, however they are written', async (t) => {
    const owner = await maker('of numbers');
    const em = fork();
    const id = await em.insert(Thing, { name: 'numbers', maker: owner, price: 2.1 });
    for (const [price, cents] of [
      [2.1, '2.1'],
      [19.9, '19.9'],
      ['0.30', '0.3'],
      [7, '7'],
    ] as const) {
      if (price !== 2.1) await fork().nativeUpdate(Thing, { id }, { price: price as number });
      const found = await QuerySet.of(fork(), Thing)
        .filter({ price: Number(cents) })
        .entities();
      t.strictSame([found.length, found[0]?.price], [1, Number(cents)], String(price));
    }
  });

  t.test('a flush that fails leaves nothing', async (t) => {
    const em = fork();
    await maker('taken');
    em.create(Maker, { name: 'not taken' });
    await em.flush();
    const failing = fork();
    failing.create(Label, { name: 'of the failure' });
    failing.create(Maker, { name: 'taken' });
    await t.rejects(failing.flush(), UniqueConstraintViolationException);
    t.equal(await fork().count(Label, { name: 'of the failure' }), 0);
  });

  t.test('a locked record is not changed by others meanwhile', { skip: database === 'sqlite' }, async (t) => {
    const id = await maker('locked');
    const lines: string[] = [];
    const change = (name: string, line: string) =>
      fork().transactional(async (em) => {
        const locked = await em.findOneOrFail(Maker, id);
        await em.lock(locked, LockMode.PESSIMISTIC_WRITE);
        lines.push(line);
        await new Promise((resolve) => setTimeout(resolve, 30));
        lines.push(line);
        locked.name = name;
      });
    const results = await Promise.allSettled([change('one', '1'), change('two', '2')]);
    t.ok(results.some(({ status }) => status === 'fulfilled'));
    t.match(lines.join(''), /^(?:1122|2211|11|22)$/);
  });
});
