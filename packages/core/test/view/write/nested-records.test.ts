import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  type InputOf,
  many,
  ModelViewSet,
  nested,
  readShape,
  refs,
  Router,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase, openSqlite, SQL_DATABASES } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

/** A member with a card (which refers to the member), a home (which the member refers to) and a club (of many members). */
const Member = defineEntity({
  name: 'Member',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(30).unique(),
    team: () => p.manyToOne(Team).nullable(),
    card: () => p.oneToOne(Card).mappedBy('member').nullable(),
    home: () => p.oneToOne(Home).owner().nullable(),
    club: () => p.manyToOne(Club).nullable(),
  },
});

const Team = defineEntity({
  name: 'Team',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(30),
    office: () => p.oneToOne(Home).owner(),
    members: () => p.oneToMany(Member).mappedBy('team'),
  },
});

const Card = defineEntity({
  name: 'Card',
  filters: { shown: { name: 'shown', cond: { hidden: false }, default: true } },
  properties: {
    id: p.integer().primary(),
    code: p.string().length(20).unique(),
    level: p.integer().default(1),
    hidden: p.boolean().default(false),
    member: () => p.oneToOne(Member).owner().deleteRule('cascade'),
    perks: () => p.manyToMany(Perk),
    stamps: () => p.oneToMany(Stamp).mappedBy('card'),
  },
});

const Stamp = defineEntity({
  name: 'Stamp',
  properties: {
    id: p.integer().primary(),
    place: p.string().length(20),
    card: () => p.manyToOne(Card).deleteRule('cascade'),
  },
});

const Perk = defineEntity({
  name: 'Perk',
  properties: { id: p.integer().primary(), name: p.string().length(20).unique() },
});

const Home = defineEntity({
  name: 'Home',
  filters: { shown: { name: 'shown', cond: { hidden: false }, default: true } },
  properties: {
    id: p.integer().primary(),
    city: p.string().length(20),
    street: p.string().length(20).nullable(),
    code: p.string().length(20).unique().nullable(),
    hidden: p.boolean().default(false),
    member: () => p.oneToOne(Member).mappedBy('home').nullable(),
  },
});

const Club = defineEntity({
  name: 'Club',
  properties: { id: p.integer().primary(), name: p.string().length(20) },
});

const ENTITIES = [Member, Team, Card, Stamp, Perk, Home, Club];

const read = readShape(Member, ['id', 'name'], {
  card: readShape(Card, ['id', 'code', 'level'], {
    perks: many('perks.name', { orderBy: ['name'] }),
    stamps: many('stamps.place', { orderBy: ['place'] }),
  }),
  home: readShape(Home, ['id', 'city', 'street', 'code']),
  club: readShape(Club, ['id', 'name']),
});
const card = writeShape(Card, ['code', 'level'], {
  perks: refs('perks.name'),
  stamps: nested(writeShape(Stamp, ['place']), { update: true }),
});
const home = writeShape(Home, ['city', 'street', 'code']);
const write = writeShape(Member, ['name'], {
  card: nested(card, { update: true }),
  home: nested(home, { update: true }),
});
const shared = writeShape(Member, ['name'], {
  club: nested(writeShape(Club, ['name']), { update: true, shared: true }),
});

class MemberViewSet extends ModelViewSet(Member, { read, write, bulk: 10, etags: true }) {}
class CreateOnlyViewSet extends ModelViewSet(Member, {
  read,
  write: writeShape(Member, ['name'], { card: nested(card), home: nested(home) }),
}) {}
class SharedViewSet extends ModelViewSet(Member, { read, write: shared }) {}
class TeamViewSet extends ModelViewSet(Team, {
  read: readShape(Team, ['id', 'name'], {
    office: readShape(Home, ['id', 'city']),
    members: many(readShape(Member, ['id', 'name'], { home: 'home.city', card: 'card.code' }), {
      orderBy: ['id'],
    }),
  }),
  write: writeShape(Team, ['name'], {
    office: nested(home, { update: true }),
    members: nested(write, { update: true }),
  }),
}) {}
class HookedViewSet extends ModelViewSet(Member, { read, write }) {
  override performCreate(request: FastifyRequest, data: WriteData<InferEntity<typeof Member>, InputOf<typeof write>>) {
    const card = data.card ?? { code: `of ${data.name}` };
    return super.performCreate(request, { ...data, card });
  }
  override performUpdate(
    request: FastifyRequest,
    member: InferEntity<typeof Member>,
    data: WriteData<InferEntity<typeof Member>, Partial<InputOf<typeof write>>>,
  ) {
    return super.performUpdate(request, member, {
      ...data,
      ...(data.home && { home: { ...data.home, street: 'hooked' } }),
    });
  }
}
forEachDatabase(t, { entities: ENTITIES }, async (t, orm) => {
  const app = await testApp(t, orm, [
    new Router()
      .register('members', MemberViewSet)
      .register('created', CreateOnlyViewSet)
      .register('shared', SharedViewSet)
      .register('teams', TeamViewSet)
      .register('hooked', HookedViewSet) as Router,
  ]);
  const send = async (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object,
    headers = {},
  ) => {
    const response = await app.inject({ method, url, headers, ...(payload && { payload }) });
    return {
      status: response.statusCode,
      body: response.body === '' ? undefined : response.json(),
      etag: response.headers.etag,
    };
  };
  const counts = async () => {
    const em = orm.em.fork({ flushMode: 'commit' });
    const all = { filters: false } as const;
    return [await em.count(Member, {}, all), await em.count(Card, {}, all), await em.count(Home, {}, all)];
  };
  t.beforeEach(async () => {
    await orm.schema.clear();
    await orm.em.fork().insertMany(Perk, [
      { id: 1, name: 'gym' },
      { id: 2, name: 'pool' },
    ]);
  });
  const start = async (name = 'Ada') => {
    const sent = {
      name,
      card: { code: `c-${name}`, perks: ['gym'], stamps: [{ place: 'Bern' }] },
      home: { city: 'Zug', street: 'See 1', code: `h-${name}` },
    };
    const { status, body } = await send('POST', '/members', sent);
    t.equal(status, 201, JSON.stringify(body));
    return body;
  };

  t.test('a POST creates the record of either side, with references and children of its own', async (t) => {
    const body = await start();
    t.match(body, {
      name: 'Ada',
      card: { code: 'c-Ada', level: 1, perks: ['gym'], stamps: ['Bern'] },
      home: { city: 'Zug', street: 'See 1' },
    });
    t.same(await counts(), [1, 1, 1]);
    t.match((await send('POST', '/members', { name: 'Bob' })).body, { name: 'Bob', card: null, home: null });
    t.match((await send('POST', '/members', { name: 'Cy', card: null, home: null })).body, { card: null, home: null });
    t.same(await counts(), [3, 1, 1]);
  });

  t.test('a PATCH merges into the record that is there', async (t) => {
    const { id, card, home } = await start();
    const { status, body } = await send('PATCH', `/members/${id}`, {
      card: { level: 3, perks: ['pool'] },
      home: { city: 'Chur' },
    });
    t.equal(status, 200, JSON.stringify(body));
    t.strictSame(body.card, { ...card, level: 3, perks: ['pool'] });
    t.strictSame(body.home, { ...home, city: 'Chur' });
    const named = await send('PATCH', `/members/${id}`, { card: { id: card.id, stamps: [] }, home: { id: home.id } });
    t.equal(named.status, 200, JSON.stringify(named.body));
    t.strictSame(named.body.card, { ...card, level: 3, perks: ['pool'], stamps: [] });
    t.strictSame(named.body.home, { ...home, city: 'Chur' });
    t.equal((await send('PATCH', `/members/${id}`, {})).body.home.city, 'Chur');
    t.same(await counts(), [1, 1, 1]);
  });

  t.test('a PUT needs a complete object, and keeps the key of the record that is there', async (t) => {
    const { id, card, home } = await start();
    const incomplete = await send('PUT', `/members/${id}`, { name: 'Ada', card: { level: 2 }, home: { street: null } });
    t.equal(incomplete.status, 400);
    t.same(
      incomplete.body.details.map(({ path }: { path: string }) => path),
      ['/card/code', '/home/city'],
    );
    const { status, body } = await send('PUT', `/members/${id}`, {
      name: 'Eva',
      card: { code: 'new' },
      home: { id: home.id, city: 'Olten', street: null },
    });
    t.equal(status, 200, JSON.stringify(body));
    t.match(body, {
      name: 'Eva',
      card: { id: card.id, code: 'new' },
      home: { id: home.id, city: 'Olten', street: null },
    });
    t.same(await counts(), [1, 1, 1]);
  });

  t.test('a PUT of a record as it was read changes nothing', async (t) => {
    const before = await start();
    const { id, club: _club, ...sent } = before;
    const stamps = await orm.em.fork().find(Stamp, {});
    sent.card.stamps = stamps.map((each) => ({ id: each.id, place: each.place }));
    const { status, body } = await send('PUT', `/members/${id}`, sent);
    t.equal(status, 200, JSON.stringify(body));
    t.strictSame(body, { ...before, card: { ...before.card, stamps: ['Bern'] } });
  });

  t.test('an update creates a record if there is none, which must be complete', async (t) => {
    const { body: member } = await send('POST', '/members', { name: 'Bob' });
    for (const method of ['PATCH', 'PUT'] as const) {
      const path = `/members/${member.id}`;
      const incomplete = await send(method, path, {
        name: 'Bob',
        card: { level: 0, perks: ['none'] },
        home: { street: 'x' },
      });
      t.equal(incomplete.status, 400);
      t.same(incomplete.body.details.map((each: { path: string }) => each.path).toSorted(), [
        '/card/code',
        '/card/perks/0',
        '/home/city',
      ]);
      const { status, body } = await send(method, path, {
        name: 'Bob',
        card: { code: method, perks: ['gym'], stamps: [{ place: 'Zug' }] },
        home: { city: 'Zug' },
      });
      t.equal(status, 200, JSON.stringify(body));
      t.match(body, {
        card: { code: method, level: 1, perks: ['gym'], stamps: ['Zug'] },
        home: { city: 'Zug', street: null },
      });
      t.same(await counts(), [1, 1, 1]);
      t.equal((await send(method, path, { name: 'Bob', card: null, home: null })).status, 200);
    }
  });

  t.test('null deletes the record', async (t) => {
    const { id } = await start();
    await start('Other');
    const { status, body } = await send('PATCH', `/members/${id}`, { card: null, home: null });
    t.equal(status, 200, JSON.stringify(body));
    t.match(body, { card: null, home: null });
    t.same(await counts(), [2, 1, 1], 'of nobody else');
    t.equal(await orm.em.fork().count(Stamp), 1);
    t.equal((await send('PATCH', `/members/${id}`, { card: null, home: null })).status, 200, 'nothing is there');
  });

  t.test('null gives 400 for a relation that is not nullable', async (t) => {
    const { status, body } = await send('POST', '/teams', { name: 'T', office: null });
    t.equal(status, 400);
    t.match(body.details, [{ path: '/office' }]);
    t.match((await send('POST', '/teams', { name: 'T' })).body.details, [{ path: '/office', message: 'is required' }]);
    const { body: team } = await send('POST', '/teams', { name: 'T', office: { city: 'Bern' } });
    const refused = await send('PATCH', `/teams/${team.id}`, { office: null });
    t.match([refused.status, refused.body.details], [400, [{ path: '/office', message: 'must not be null' }]]);
    t.match((await send('PATCH', `/teams/${team.id}`, { office: { city: 'Thun' } })).body, {
      office: { id: team.office.id, city: 'Thun' },
    });
  });

  t.test('a key of any other record gives 400 at its place', async (t) => {
    const { id } = await start();
    const other = await start('Other');
    const { body: bare } = await send('POST', '/members', { name: 'Bare' });
    for (const wrong of [other.card.id, 999_999]) {
      for (const path of [`/members/${id}`, `/members/${bare.id}`]) {
        const card = { id: wrong, code: 'stolen' };
        const { status, body } = await send('PATCH', path, { card, home: { id: other.home.id, city: 'x' } });
        t.equal(status, 400, JSON.stringify(body));
        t.strictSame(body.details, [
          { in: 'body', path: '/card/id', message: 'must be the id of the Card of this record' },
          { in: 'body', path: '/home/id', message: 'must be the id of the Home of this record' },
        ]);
      }
    }
    t.match((await send('PATCH', `/members/${id}`, { card: { id: null } })).body.details, [{ path: '/card/id' }]);
    t.match((await send('PATCH', `/members/${id}`, { card: { id: 'x' } })).body.details, [{ path: '/card/id' }]);
    t.match((await send('PATCH', `/members/${id}`, { card: { member: other.id, level: 5 } })).status, 200);
    t.strictSame((await send('GET', `/members/${other.id}`)).body, other, 'nothing was taken over');
    const posted = await send('POST', '/members', { name: 'New', card: { id: other.card.id, code: 'own' } });
    t.equal(posted.status, 201);
    t.not(posted.body.card.id, other.card.id, 'a POST always creates');
    t.strictSame((await send('GET', `/members/${other.id}`)).body, other);
  });

  t.test('errors of all levels are returned together, with their paths', async (t) => {
    const { id } = await start();
    for (const [method, path] of [
      ['POST', '/members'],
      ['PATCH', `/members/${id}`],
    ] as const) {
      const { status, body } = await send(method, path, {
        name: 5,
        card: { code: 5, level: 'x', stamps: [{ place: 1 }], perks: ['gym', 'none'] },
        home: 'no object',
      });
      t.equal(status, 400);
      t.same(body.details.map((each: { path: string }) => each.path).toSorted(), [
        '/card/code',
        '/card/level',
        '/card/perks/1',
        '/card/stamps/0/place',
        '/home',
        '/name',
      ]);
    }
    for (const wrong of [[], [{ code: 'x' }], 5, '', true]) {
      t.equal((await send('POST', '/members', { name: 'x', card: wrong })).status, 400, JSON.stringify(wrong));
      t.equal((await send('PATCH', `/members/${id}`, { home: wrong })).status, 400, JSON.stringify(wrong));
    }
  });

  t.test('a taken unique value is named at its place, and nothing is stored', async (t) => {
    const { id } = await start();
    await start('Other');
    const before = await send('GET', `/members/${id}`);
    const posted = await send('POST', '/members', { name: 'New', card: { code: 'c-Ada' }, home: { city: 'x' } });
    t.equal(posted.status, 409);
    t.strictSame(posted.body.details, [{ in: 'body', path: '/card/code', message: 'is taken' }]);
    const patched = await send('PATCH', `/members/${id}`, { name: 'Changed', home: { code: 'h-Other' } });
    t.equal(patched.status, 409);
    t.strictSame(patched.body.details, [{ in: 'body', path: '/home/code', message: 'is taken' }]);
    t.strictSame((await send('GET', `/members/${id}`)).body, before.body);
    t.same(await counts(), [2, 2, 2]);
  });

  t.test('a record that a filter hides is neither changed nor replaced', async (t) => {
    const { id } = await start();
    await orm.em.fork().nativeUpdate(Home, {}, { hidden: true }, { filters: false });
    await orm.em.fork().nativeUpdate(Card, {}, { hidden: true }, { filters: false });
    const { status, body } = await send('PATCH', `/members/${id}`, { home: { city: 'x' } });
    t.equal(status, 400, JSON.stringify(body));
    t.match(body.details, [{ path: '/home', message: 'cannot be written, because its Home is hidden' }]);
    t.equal((await send('PATCH', `/members/${id}`, { home: null })).status, 200, 'none is seen');
    const filters = false;
    t.equal(await orm.em.fork().count(Member, { home: { $ne: null } }, { filters }), 1, 'the relation stays');
    const card = await send('PATCH', `/members/${id}`, { card: { code: 'second' } });
    t.equal(card.status, 409, JSON.stringify(card.body));
    t.strictSame(card.body.details, [{ in: 'body', path: '/card', message: 'is taken' }]);
    t.equal((await send('PATCH', `/members/${id}`, { card: null })).status, 200);
    t.same(await counts(), [1, 1, 1]);
  });

  t.test('a shape that only creates drops the objects on update', async (t) => {
    const { body: made } = await send('POST', '/created', { name: 'a', card: { code: 'x' }, home: { city: 'y' } });
    for (const method of ['PUT', 'PATCH'] as const) {
      const { status, body } = await send(method, `/created/${made.id}`, { name: 'a', card: null, home: 5 });
      t.equal(status, 200);
      t.strictSame(body, made);
    }
  });

  t.test('a shared record is changed for all, never deleted and never taken over', async (t) => {
    const { status, body: one } = await send('POST', '/shared', { name: 'One', club: { name: 'Chess' } });
    t.equal(status, 201, JSON.stringify(one));
    const em = orm.em.fork();
    em.create(Member, { name: 'Two', club: one.club.id });
    await em.flush();
    const [two] = await orm.em.fork().find(Member, { name: 'Two' });
    const changed = await send('PATCH', `/shared/${one.id}`, { club: { name: 'Go' } });
    t.strictSame(changed.body.club, { id: one.club.id, name: 'Go' });
    t.equal((await send('GET', `/shared/${two!.id}`)).body.club.name, 'Go');
    t.equal((await send('PATCH', `/shared/${one.id}`, { club: null })).body.club, null);
    t.equal(await orm.em.fork().count(Club), 1);
    const taken = await send('PATCH', `/shared/${one.id}`, { club: { id: one.club.id, name: 'Mine' } });
    t.equal(taken.status, 400);
    const created = await send('PATCH', `/shared/${one.id}`, { club: { name: 'Own' } });
    t.not(created.body.club.id, one.club.id);
    t.equal((await send('GET', `/shared/${two!.id}`)).body.club.name, 'Go');
  });

  t.test('records nest in lists, and lists in records', async (t) => {
    const { status, body: team } = await send('POST', '/teams', {
      name: 'T',
      office: { city: 'Bern' },
      members: [
        { name: 'a', card: { code: '1' }, home: { city: 'Zug', code: 'z' } },
        { name: 'b', card: { code: '2' } },
      ],
    });
    t.equal(status, 201, JSON.stringify(team));
    const [a, b] = team.members;
    const members = [
      { id: a.id, card: { code: '2' }, home: null },
      { id: b.id, card: { code: '1' }, home: { city: 'Chur', code: 'z' } },
    ];
    const { status: patched, body } = await send('PATCH', `/teams/${team.id}`, { members });
    t.equal(patched, 200, JSON.stringify(body));
    t.strictSame(body.members, [
      { id: a.id, name: 'a', home: null, card: '2' },
      { id: b.id, name: 'b', home: 'Chur', card: '1' },
    ]);
    t.same(await counts(), [2, 2, 2]);
    const wrong = await send('PATCH', `/teams/${team.id}`, {
      members: [
        { id: a.id, card: { stamps: [{ place: 5 }] }, home: {} },
        { id: b.id, card: { id: 9999 } },
      ],
    });
    t.same(wrong.body.details.map((each: { path: string }) => each.path).toSorted(), [
      '/members/0/card/stamps/0/place',
      '/members/0/home/city',
      '/members/1/card/id',
    ]);
  });

  t.test('bulk requests treat each record like a request', async (t) => {
    const { status, body } = await send('POST', '/members', [
      { name: 'a', card: { code: '1' }, home: { city: 'A' } },
      { name: 'b' },
    ]);
    t.equal(status, 201, JSON.stringify(body));
    const [a, b] = body;
    const patched = await send('PATCH', '/members', [
      { id: a.id, card: { level: 7 }, home: null },
      { id: b.id, card: { code: '2' }, home: { city: 'B' } },
    ]);
    t.equal(patched.status, 200, JSON.stringify(patched.body));
    t.match(patched.body, [
      { card: { id: a.card.id, code: '1', level: 7 }, home: null },
      { card: { code: '2', level: 1 }, home: { city: 'B' } },
    ]);
    const wrong = await send('PATCH', '/members', [
      { id: a.id, home: {} },
      { id: b.id, card: { id: a.card.id } },
    ]);
    t.match(wrong.body.details, [{ path: '/0/home/city' }, { path: '/1/card/id' }]);
    const swapped = await send('PATCH', '/members', [
      { id: a.id, card: { code: '2' } },
      { id: b.id, card: { code: 'x' } },
    ]);
    t.equal(swapped.status, 200, 'a unique value passes between records of different parents');
    t.match(swapped.body, [{ card: { id: a.card.id, code: '2' } }, { card: { code: 'x' } }]);
    await send('PATCH', '/members', [{ id: a.id, card: null }]);
    const created = await send('PATCH', '/members', [
      { id: a.id, card: { code: 'x' } },
      { id: b.id, card: { code: 'y' } },
    ]);
    t.equal(created.status, 409, 'a new record of an earlier parent is stored before later changes');
    t.match(created.body.details, [{ path: '/0/card/code' }]);
  });

  t.test('hooks get objects, and may add to them', async (t) => {
    const { body: made } = await send('POST', '/hooked', { name: 'Ada', home: { city: 'Zug' } });
    t.match(made, { card: { code: 'of Ada' }, home: { city: 'Zug' } });
    const { status, body } = await send('PATCH', `/hooked/${made.id}`, { home: { city: 'Bern' } });
    t.equal(status, 200, JSON.stringify(body));
    t.match(body, { home: { id: made.home.id, city: 'Bern', street: 'hooked' } });
  });

  t.test('an outdated If-Match changes no nested record', async (t) => {
    const made = await start();
    const { etag } = await send('GET', `/members/${made.id}`);
    const first = await send('PATCH', `/members/${made.id}`, { home: { city: 'first' } }, { 'if-match': etag });
    t.equal(first.status, 200, JSON.stringify(first.body));
    const late = await send('PATCH', `/members/${made.id}`, { home: { city: 'late' } }, { 'if-match': etag });
    t.equal(late.status, 412);
    t.equal((await send('GET', `/members/${made.id}`)).body.home.city, 'first');
  });

  t.test('concurrent updates create one record', async (t) => {
    const { body: bare } = await send('POST', '/members', { name: 'Bare' });
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        send('PATCH', `/members/${bare.id}`, { card: { code: `k${index}` }, home: { city: `k${index}` } }),
      ),
    );
    t.ok(
      answers.every(({ status }) => status === 200),
      JSON.stringify(answers.filter(({ status }) => status !== 200)),
    );
    t.same(await counts(), [1, 1, 1]);
    const { body } = await send('GET', `/members/${bare.id}`);
    t.equal(body.card.code, body.home.city, 'both are of one request');
  });
});

/** A record whose key is the record that it belongs to. */
const Guest = defineEntity({
  name: 'Guest',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(30),
    badge: () => p.oneToOne(Badge).mappedBy('guest').nullable(),
  },
});
const Badge = defineEntity({
  name: 'Badge',
  properties: {
    guest: () => p.oneToOne(Guest).owner().primary().deleteRule('cascade'),
    color: p.string().length(20).unique(),
  },
});
class GuestViewSet extends ModelViewSet(Guest, {
  read: readShape(Guest, ['id', 'name'], { badge: 'badge.color' }),
  write: writeShape(Guest, ['name'], { badge: nested(writeShape(Badge, ['color']), { update: true }) }),
}) {}

forEachDatabase(t, { entities: [Guest, Badge], only: SQL_DATABASES }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('guests', GuestViewSet) as Router]);
  t.test('a record may have the relation to its parent as its key', async (t) => {
    const send = async (method: 'POST' | 'PATCH', url: string, payload: object) => {
      const response = await app.inject({ method, url, payload });
      return { status: response.statusCode, body: response.json() };
    };
    const { status, body: made } = await send('POST', '/guests', { name: 'a', badge: { color: 'red' } });
    t.equal(status, 201, JSON.stringify(made));
    t.equal(made.badge, 'red');
    const path = `/guests/${made.id}`;
    for (const color of ['blue', null, 'green', 'green']) {
      const { body } = await send('PATCH', path, { badge: color === null ? null : { color, guest: 77 } });
      t.equal(body.badge, color, JSON.stringify(body));
    }
    t.equal((await send('POST', '/guests', { name: 'b', badge: { color: 'red' } })).status, 201);
    const taken = await send('PATCH', path, { badge: { color: 'red' } });
    t.strictSame(taken.body.details, [{ in: 'body', path: '/badge/color', message: 'is taken' }]);
  });
});

t.test('mistakes of a programmer are found at start', async (t) => {
  const club = writeShape(Club, ['name']);
  t.throws(
    () => writeShape(Member, ['name'], { club: nested(club) }),
    /Member: nested\(\) of "club" would change a record that other records may refer to.*shared: true/,
  );
  t.throws(() => writeShape(Member, ['name'], { card: nested(club as never) }), /relation to Card.*shape is of Club/);
  t.throws(
    () => writeShape(Member, ['name'], { card: nested(card, { shared: true }) }),
    /"shared", which is for many-to-one relations/,
  );
  t.throws(() => writeShape(Member, ['name'], { home: nested(home, { max: 3 }) }), /"max", which is for lists/);
  t.throws(
    () => writeShape(Member, ['name'], { card: nested(writeShape(Card, ['code', 'member'])) }),
    /"card" writes a record of the record, so its shape may not write "member"/,
  );
  t.throws(
    () => writeShape(Member, ['name'], { card: nested(writeShape(Card, ['id', 'code']), { update: true }) }),
    /with "update".*primary key "id" of Card/,
  );
  t.doesNotThrow(() => writeShape(Member, ['name'], { card: nested(writeShape(Card, ['id', 'code'])) }));
  t.throws(() => writeShape(Member, ['card']), /Member.card has its column on the other side.*nested/);
  t.throws(() => writeShape(Member, [], { name: nested(club) as never }), /"name" is not a relation/);
  t.throws(() => writeShape(Card, ['code'], { perks: nested(writeShape(Perk, ['name'])) }), /refs\('perks'\)/);
  const whole = writeShape(Member, ['name'], { card: nested(card, { update: true }) });
  t.strictSame(Object.keys(whole.pick(['name']).partial.properties), ['name']);
  t.strictSame(Object.keys(whole.extend(['club']).replacement.properties), ['name', 'card', 'club']);

  const orm = await openSqlite(t, { entities: ENTITIES });
  const uncoded = writeShape(Member, ['name'], { card: nested(writeShape(Card, ['level'])) });
  class UncodedViewSet extends ModelViewSet(Member, { read, write: uncoded }) {}
  await t.rejects(testApp(t, orm, [new Router().register('members', UncodedViewSet) as Router]), {
    message: /^UncodedViewSet: a new Card cannot be stored without "code"/,
  });
});
