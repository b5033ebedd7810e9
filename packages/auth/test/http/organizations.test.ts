/** Organizations whose members have roles: who sees and does what, and the owner that stays. */
import { defineEntity, p } from '@mikro-orm/core';
import { IsRoleAdminUser, IsSafeMethodOnly, ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { AccountViewSet, organizations } from '../../src/index.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, ApiKey, Club, ClubInvitation, ClubMember, ClubNote, Role } from '../support/entities.ts';

const options = {
  organization: Club,
  membership: ClubMember,
  name: 'club',
  roles: {
    owner: ['organization.write', 'members.write', 'notes.write'],
    manager: ['members.write', 'notes.write'],
    writer: ['notes.write'],
    guest: [],
  },
} as const;
const clubs = organizations(options);

class Clubs extends clubs.OrganizationViewSet({
  read: readShape(Club, ['id', 'name']),
  write: writeShape(Club, ['name']),
  bulk: 5,
}) {}
class Members extends clubs.MembershipViewSet({ bulk: { destroy: 5, update: 5 } }) {}
class Added extends clubs.MembershipViewSet({
  write: {
    create: writeShape(ClubMember, ['role'], { account: 'account.email' }),
    update: writeShape(ClubMember, ['role']),
  },
  operations: ['create'],
}) {}
const notes = {
  read: readShape(ClubNote, ['id', 'text']),
  write: writeShape(ClubNote, ['text']),
  permissionClasses: [clubs.within(ClubNote, 'club'), IsSafeMethodOnly.or(clubs.HasPermission('notes.write'))],
};
class Notes extends ModelViewSet(ClubNote, notes) {}
const byAdministrators = { permissionClasses: [IsRoleAdminUser] };
class AllClubs extends clubs.OrganizationViewSet({
  read: readShape(Club, ['id', 'name']),
  write: writeShape(Club, ['name']),
  ...byAdministrators,
}) {}
class AllMembers extends clubs.MembershipViewSet({ ...byAdministrators, anyRole: true }) {}
class Accounts extends AccountViewSet(Account, { bulk: { destroy: 5, update: 5 } }) {}
class AllNotes extends ModelViewSet(ClubNote, { ...notes, operations: ['list', 'update'] }) {}

function addRoutes(app: FastifyInstance): void {
  const router = new Router({ prefix: 'api' })
    .register('clubs', Clubs)
    .register('clubs/:club/members', Members)
    .register('clubs/:club/added', Added)
    .register('clubs/:club/notes', Notes)
    .register('notes', AllNotes)
    .register('all/clubs', AllClubs)
    .register('all/clubs/:club/members', AllMembers)
    .register('accounts', Accounts);
  void app.register(router.plugin);
}

const entities = [Account, Role, ApiKey, Club, ClubMember, ClubNote, ClubInvitation];
const permissions = ['organization.write', 'members.write', 'notes.write'];
type MemberRole = 'owner' | 'manager' | 'writer' | 'guest';

interface Sent {
  readonly status: number;
  readonly body: {
    readonly id: number;
    readonly results: { role: string; id: number }[];
    readonly [name: string]: unknown;
  };
}

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await startApp(t, orm, { permissions, me: {}, apiKeys: ApiKey }, addRoutes);
  let people = 0;
  const send = async (token: string, method: string, path: string, json?: unknown): Promise<Sent> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await app.request(method, `/api${path}`, { headers, ...(json !== undefined && { json }) });
    return { status: answer.status, body: answer.body as never };
  };
  const person = async () => {
    const email = `person${++people}@example.com`;
    const { id } = await app.addAccount(email);
    const token = app.app.auth.issueToken({ id, email, name: 'Ann', role: null });
    return { id, email, token };
  };
  /** A club with one member of each of these roles. */
  const club = async (...roles: readonly MemberRole[]) => {
    const members = await Promise.all(roles.map(person));
    const em = orm.em.fork();
    const made = em.create(Club, { name: 'Chess' } as never);
    const rows = members.map(({ id }, index) =>
      em.create(ClubMember, { club: made, account: id as never, role: roles[index]! }),
    );
    await em.flush();
    const path = `/clubs/${made.id}`;
    return { id: made.id, path, members: members.map((each, index) => ({ ...each, row: rows[index]!.id })) };
  };
  const roleOf = async (row: number) => (await orm.em.fork().findOne(ClubMember, { id: row }))?.role;
  const ownersOf = (id: number) => orm.em.fork().count(ClubMember, { club: { id }, role: 'owner' });

  t.test('the person who creates an organization owns it, and others do not see it', async (t) => {
    const [ann, bob] = [await person(), await person()];
    const made = await send(ann.token, 'POST', '/clubs', { name: 'Go' });
    t.match(made, { status: 201, body: { name: 'Go' } });
    const path = `/clubs/${made.body.id}`;
    const members = await send(ann.token, 'GET', `${path}/members`);
    t.match(members.body.results, [{ account: ann.id, name: 'Ann', role: 'owner' }]);
    for (const [method, below, json] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'Mine' }],
      ['DELETE', '', undefined],
      ['GET', '/members', undefined],
      ['GET', '/notes', undefined],
      ['POST', '/notes', { text: 'x' }],
      ['POST', '/added', { account: bob.email, role: 'owner' }],
    ] as const) {
      const hidden = await send(bob.token, method, path + below, json);
      const absent = await send(bob.token, method, `/clubs/999999${below}`, json);
      t.same([hidden.status, hidden.body], [404, absent.body], `${method} ${below}`);
      t.equal((await app.request(method, `/api${path}${below}`, json && { json })).status, 401);
    }
    for (const key of ['x', '0', '-1', '99999999999999999999', '1e0']) {
      t.equal((await send(ann.token, 'POST', `/clubs/${key}/notes`, { text: 'x' })).status, 404, key);
    }
    t.equal((await send(bob.token, 'GET', '/clubs')).body['count'], 0);
    t.equal((await send(ann.token, 'DELETE', path)).status, 204);
  });

  t.test('the permissions of the role decide, in the organization of the path', async (t) => {
    const { path, members } = await club('owner', 'manager', 'writer', 'guest');
    const statuses = async (method: string, below: string, json: object) => {
      const sent: number[] = [];
      for (const { token } of members) sent.push((await send(token, method, path + below, json)).status);
      return sent;
    };
    t.same(await statuses('POST', '/notes', { text: 'x' }), [201, 201, 201, 403]);
    t.same(await statuses('PATCH', '', { name: 'Chess' }), [200, 403, 403, 403]);
    t.same(await statuses('PATCH', `/members/${members[3]!.row}`, { role: 'guest' }), [200, 200, 403, 403]);
    const other = await club('owner');
    t.equal((await send(members[0]!.token, 'POST', `${other.path}/notes`, { text: 'x' })).status, 404);
    const rows = [{ id: other.id, name: 'Mine' }];
    t.equal((await send(members[0]!.token, 'PATCH', '/clubs', rows)).status, 404, 'several at once');
    const rename = [{ id: Number(path.split('/')[2]), name: 'Ours' }];
    t.equal((await send(members[1]!.token, 'PATCH', '/clubs', rename)).status, 403);
    t.equal((await send(members[0]!.token, 'PATCH', '/clubs', rename)).status, 200);
    t.equal(
      (await send(members[0]!.token, 'PATCH', '/notes/1', { text: 'x' })).status,
      500,
      'no organization in the path',
    );
    t.equal((await send(members[3]!.token, 'GET', '/notes')).body['count'], 3);
  });

  t.test('nobody gives or takes a role with more rights than they have', async (t) => {
    const { path, members } = await club('owner', 'manager', 'writer', 'manager');
    const [owner, manager, writer, second] = members;
    const newcomer = await person();
    const patch = (by: { token: string }, { row }: { row: number }, role: string) =>
      send(by.token, 'PATCH', `${path}/members/${row}`, { role });
    t.equal((await patch(manager!, manager!, 'owner')).status, 403, 'oneself');
    t.equal((await patch(manager!, writer!, 'owner')).status, 403);
    t.equal((await patch(manager!, owner!, 'guest')).status, 403);
    t.equal((await send(manager!.token, 'DELETE', `${path}/members/${owner!.row}`)).status, 403);
    t.equal((await patch(manager!, second!, 'writer')).status, 200);
    t.equal((await patch(owner!, writer!, 'emperor')).status, 400);
    for (const [role, status] of [
      ['owner', 403],
      ['manager', 201],
    ] as const) {
      const added = await send(manager!.token, 'POST', `${path}/added`, { account: newcomer.email, role });
      t.equal(added.status, status, role);
    }
    const again = await send(owner!.token, 'POST', `${path}/added`, { account: newcomer.email, role: 'guest' });
    t.equal(again.status, 409);
    const { email } = await person();
    const byDefault = await send(manager!.token, 'POST', `${path}/added`, { account: email });
    t.match(byDefault, { status: 201, body: { role: 'guest' } }, 'the default of the column');
    t.equal(await roleOf(owner!.row), 'owner');
  });

  t.test('members leave, and are removed; the last owner stays', async (t) => {
    const { id, path, members } = await club('owner', 'manager', 'guest', 'owner');
    const [owner, manager, guest, second] = members;
    const remove = (by: { token: string }, { row }: { row: number }) =>
      send(by.token, 'DELETE', `${path}/members/${row}`);
    t.equal((await remove(guest!, manager!)).status, 403);
    t.equal((await remove(guest!, guest!)).status, 204, 'leaves');
    t.equal((await send(guest!.token, 'GET', path)).status, 404);
    t.equal((await remove(second!, second!)).status, 204, 'one of two owners');
    t.match(await remove(owner!, owner!), { status: 409, body: { code: 'conflict' } });
    t.equal((await send(owner!.token, 'PATCH', `${path}/members/${owner!.row}`, { role: 'guest' })).status, 409);
    const rows = [{ id: owner!.row, role: 'guest' }];
    t.equal((await send(owner!.token, 'PATCH', `${path}/members`, rows)).status, 409);
    const both = `${owner!.row},${manager!.row}`;
    t.equal((await send(owner!.token, 'DELETE', `${path}/members?pk=${both}`)).status, 409);
    t.equal(await roleOf(manager!.row), 'manager', 'all or none');
    const account = { headers: { authorization: `Bearer ${owner!.token}` }, json: { password: PASSWORD } };
    t.equal((await app.request('DELETE', '/auth/me', account)).status, 409);
    t.equal(await ownersOf(id), 1);
    t.equal((await send(owner!.token, 'PATCH', `${path}/members/${manager!.row}`, { role: 'owner' })).status, 200);
    t.equal((await remove(owner!, owner!)).status, 204);
    t.equal((await app.request('DELETE', '/auth/me', account)).status, 204);
  });

  t.test('of two owners that leave at the same time one stays', async (t) => {
    for (let round = 0; round < 8; round++) {
      const { id, path, members } = await club('owner', 'owner');
      const [ann, bob] = members;
      const leave = ({ token, row }: { token: string; row: number }) => send(token, 'DELETE', `${path}/members/${row}`);
      const demote = ({ token, row }: { token: string; row: number }) =>
        send(token, 'PATCH', `${path}/members/${row}`, { role: 'guest' });
      const deleteAccount = ({ token }: { token: string }) =>
        app.request('DELETE', '/auth/me', {
          headers: { authorization: `Bearer ${token}` },
          json: { password: PASSWORD },
        });
      const ways = [leave, demote, deleteAccount, leave];
      const sent = await Promise.all([ways[round % 4]!(ann!), ways[(round >> 1) % 4]!(bob!)]);
      const refused = sent.filter(({ status }) => status === 409);
      t.equal(refused.length, 1, sent.map(({ status }) => status).join(' '));
      t.equal(await ownersOf(id), 1);
    }
  });

  t.test('of two owners that remove each other one stays', async (t) => {
    for (let round = 0; round < 4; round++) {
      const { id, path, members } = await club('owner', 'owner');
      const [ann, bob] = members;
      const sent = await Promise.all([
        send(ann!.token, 'DELETE', `${path}/members/${bob!.row}`),
        send(bob!.token, 'DELETE', `${path}/members/${ann!.row}`),
      ]);
      t.equal(sent.filter(({ status }) => status === 204).length, 1, sent.map(({ status }) => status).join(' '));
      t.equal(await ownersOf(id), 1);
    }
  });

  const administrator = async () => {
    const email = `admin${++people}@example.com`;
    const em = orm.em.fork();
    const role = (await em.findOne(Role, { name: 'admin' })) ?? (await app.addRole('admin'));
    const { id } = await app.addAccount(email, { role });
    return { id, email, token: app.app.auth.issueToken({ id, email, name: 'Ann', role }) };
  };

  t.test('an administrator cannot delete the account of the last owner', async (t) => {
    const { id, path, members } = await club('owner', 'owner', 'guest');
    const [ann, bob, eve] = members;
    const { token } = await administrator();
    const remove = (account: { id: number }) => send(token, 'DELETE', `/accounts/${account.id}`);
    t.match(await send(token, 'DELETE', `/accounts?pk=${ann!.id},${bob!.id}`), { status: 409 }, 'both at once');
    t.equal(await ownersOf(id), 2);
    t.equal((await remove(ann!)).status, 204, 'one of two');
    const refused = await remove(bob!);
    t.match(refused, { status: 409, body: { code: 'conflict', error: /must keep an owner/ } });
    t.equal(await ownersOf(id), 1);
    t.equal((await send(bob!.token, 'GET', path)).status, 200);
    t.equal((await remove(eve!)).status, 204, 'a guest');
    const rows = (await send(token, 'GET', `/all${path}/members`)).body.results;
    t.equal(rows.length, 1);
  });

  t.test('an owner whose account is disabled is none', async (t) => {
    const { id, path, members } = await club('owner', 'owner', 'manager');
    const [ann, bob, manager] = members;
    const { token } = await administrator();
    const change = (account: { id: number }, is_active: boolean) =>
      send(token, 'PATCH', `/accounts/${account.id}`, { is_active });
    t.equal((await change(bob!, false)).status, 200);
    t.equal((await send(ann!.token, 'DELETE', `${path}/members/${ann!.row}`)).status, 409, 'cannot leave');
    const json = { password: PASSWORD };
    const headers = { authorization: `Bearer ${ann!.token}` };
    t.equal((await app.request('DELETE', '/auth/me', { headers, json })).status, 409, 'nor delete the account');
    t.equal((await send(token, 'DELETE', `/accounts/${ann!.id}`)).status, 409);
    t.equal((await send(token, 'DELETE', `/accounts/${bob!.id}`)).status, 204, 'the disabled one');
    t.equal((await change(ann!, false)).status, 200, 'disabling is never refused');
    t.equal((await send(manager!.token, 'PATCH', `${path}/members/${manager!.row}`, { role: 'owner' })).status, 403);
    const promote = await send(token, 'PATCH', `/all${path}/members/${manager!.row}`, { role: 'owner' });
    t.match(promote, { status: 200, body: { role: 'owner' } }, 'an administrator makes another owner');
    t.equal((await send(token, 'DELETE', `/accounts/${ann!.id}`)).status, 204);
    t.equal(await roleOf(manager!.row), 'owner');
    t.equal((await send(token, 'DELETE', `/all${path}/members/${manager!.row}`)).status, 409);
    t.equal((await send(manager!.token, 'DELETE', `/all${path}`)).status, 403, 'only administrators');
    t.equal((await send(token, 'DELETE', `/all${path}`)).status, 204);
    t.equal(await ownersOf(id), 0);
    t.equal((await send(token, 'DELETE', `/accounts/${manager!.id}`)).status, 204);
  });

  t.test('of an owner who leaves and one whose account is deleted at the same time one stays', async (t) => {
    const { token } = await administrator();
    for (let round = 0; round < 6; round++) {
      const { id, path, members } = await club('owner', 'owner');
      const [ann, bob] = members;
      const ways = [
        () => send(bob!.token, 'DELETE', `${path}/members/${bob!.row}`),
        () => send(token, 'DELETE', `/accounts/${bob!.id}`),
        () => send(bob!.token, 'PATCH', `${path}/members/${bob!.row}`, { role: 'guest' }),
      ];
      const sent = await Promise.all([send(token, 'DELETE', `/accounts/${ann!.id}`), ways[round % 3]!()]);
      t.equal(sent.filter(({ status }) => status === 409).length, 1, sent.map(({ status }) => status).join(' '));
      t.equal(await ownersOf(id), 1);
    }
  });

  t.test('an API key with scopes needs the permission as a scope too', async (t) => {
    const { path, members } = await club('owner');
    const by = { authorization: `Bearer ${members[0]!.token}` };
    for (const [scopes, status] of [
      [['notes.write'], 201],
      [['members.write'], 403],
      [undefined, 201],
    ] as const) {
      const made = await app.post('/auth/api-keys', { name: 'x', scopes, password: PASSWORD }, by);
      const key = made.body['key'] as never as string;
      t.equal((await send(key, 'POST', `${path}/notes`, { text: 'x' })).status, status, String(scopes));
    }
  });

  t.test('an API key with scopes gives and takes only roles whose permissions are among its scopes', async (t) => {
    const keyOf = async (token: string, scopes?: readonly string[]): Promise<string> => {
      const body = { name: 'x', password: PASSWORD, ...(scopes && { scopes }) };
      return (await app.post('/auth/api-keys', body, { authorization: `Bearer ${token}` })).body['key'] as never;
    };
    const all = permissions;
    const cases: readonly [scopes: string[] | undefined, gives: readonly MemberRole[]][] = [
      [['members.write'], ['guest']],
      [
        ['members.write', 'notes.write'],
        ['guest', 'writer', 'manager'],
      ],
      [all, ['guest', 'writer', 'manager']],
      [undefined, ['guest', 'writer', 'manager', 'owner']],
    ];
    for (const [scopes, gives] of cases) {
      const { path, members } = await club('owner', 'guest');
      const [ann, bob] = members;
      const key = await keyOf(ann!.token, scopes);
      for (const role of ['guest', 'writer', 'manager', 'owner'] as const) {
        const status = gives.includes(role) ? 200 : 403;
        const given = await send(key, 'PATCH', `${path}/members/${bob!.row}`, { role });
        t.equal(given.status, status, `${String(scopes)} gives ${role}`);
        const eve = await person();
        const added = await send(key, 'POST', `${path}/added`, { account: eve.email, role });
        t.equal(added.status, status === 200 ? 201 : 403, `${String(scopes)} adds ${role}`);
        t.equal((await send(ann!.token, 'PATCH', `${path}/members/${bob!.row}`, { role })).status, 200);
        const taken = await send(key, 'PATCH', `${path}/members/${bob!.row}`, { role: 'guest' });
        t.equal(taken.status, status, `${String(scopes)} takes ${role}`);
        t.equal(await roleOf(bob!.row), status === 200 ? 'guest' : role);
        t.equal((await send(ann!.token, 'PATCH', `${path}/members/${bob!.row}`, { role: 'guest' })).status, 200);
      }
      const own = await send(key, 'PATCH', `${path}/members/${ann!.row}`, { role: 'owner' });
      t.equal(own.status, scopes === undefined ? 200 : 403, 'the role of the owner of the key');
    }
    const { path, members } = await club('owner', 'manager');
    const key = await keyOf(members[0]!.token, ['members.write']);
    t.equal((await send(key, 'DELETE', `${path}/members/${members[1]!.row}`)).status, 403, 'removes a manager');
    t.equal(await roleOf(members[1]!.row), 'manager');
  });
});

forEachDatabase(t, { entities }, async (t, orm) => {
  const few = organizations({ ...options, maxPerUser: 2 });
  class Few extends few.OrganizationViewSet({
    read: readShape(Club, ['id', 'name']),
    write: writeShape(Club, ['name']),
    softDelete: 'deleted_at',
    bulk: 5,
  }) {}
  class FewMembers extends few.MembershipViewSet() {}
  const app = await startApp(t, orm, { permissions, apiKeys: ApiKey }, (scope) => {
    void scope.register(
      new Router({ prefix: 'api' }).register('clubs', Few).register('clubs/:club/members', FewMembers).plugin,
    );
  });
  let people = 0;
  const person = async () => {
    const email = `few${++people}@example.com`;
    const { id } = await app.addAccount(email);
    return app.app.auth.issueToken({ id, email, name: 'Ann', role: null });
  };
  const send = async (token: string, method: string, path: string, json?: unknown) => {
    const headers = { authorization: `Bearer ${token}` };
    const { status, body } = await app.request(method, `/api${path}`, { headers, ...(json !== undefined && { json }) });
    return { status, body: body as never as { readonly id: number; readonly [name: string]: unknown } };
  };

  t.test('a user owns at most maxPerUser organizations', async (t) => {
    const [ann, bob] = [await person(), await person()];
    const made = await Promise.all(Array.from({ length: 5 }, () => send(ann, 'POST', '/clubs', { name: 'Chess' })));
    const created = made.filter(({ status }) => status === 201);
    t.same(
      [created.length, made.filter(({ status }) => status === 409).length],
      [2, 3],
      'also of simultaneous requests',
    );
    t.match(made.find(({ status }) => status === 409)!.body, {
      code: 'conflict',
      error: /at most 2 organizations \(maxPerUser\)/,
    });
    t.equal((await send(bob, 'POST', '/clubs', [{ name: 'a' }, { name: 'b' }, { name: 'c' }])).status, 409, 'bulk');
    t.equal((await send(bob, 'POST', '/clubs', [{ name: 'a' }, { name: 'b' }])).status, 201);
    const { id } = made.find(({ status }) => status === 201)!.body;
    t.equal((await send(ann, 'DELETE', `/clubs/${id}`)).status, 204);
    t.equal((await send(ann, 'POST', '/clubs', { name: 'Chess' })).status, 201, 'a deleted one does not count');
    t.equal((await send(ann, 'POST', '/clubs', { name: 'Chess' })).status, 409);
  });

  t.test('an API key with scopes neither creates organizations nor leaves them', async (t) => {
    const ann = await person();
    const club = (await send(ann, 'POST', '/clubs', { name: 'Chess' })).body.id;
    const em = orm.em.fork();
    const { id } = await app.addAccount(`guest${++people}@example.com`);
    const row = em.create(ClubMember, { club, account: id, role: 'guest' } as never) as { id: number };
    await em.flush();
    const guest = app.app.auth.issueToken({ id, email: '', name: 'Ann', role: null });
    const keyOf = async (scopes?: readonly string[]): Promise<string> =>
      (
        await app.post(
          '/auth/api-keys',
          { name: 'x', password: PASSWORD, scopes },
          { authorization: `Bearer ${guest}` },
        )
      ).body['key'] as never;
    for (const scopes of [[], permissions]) {
      const key = await keyOf(scopes);
      t.equal((await send(key, 'POST', '/clubs', { name: 'x' })).status, 403, `creates with ${String(scopes)}`);
      t.equal((await send(key, 'DELETE', `/clubs/${club}/members/${row.id}`)).status, 403, 'leaves');
    }
    const plain = await keyOf();
    t.equal((await send(plain, 'POST', '/clubs', { name: 'x' })).status, 201, 'a key without scopes may');
    t.equal((await send(plain, 'DELETE', `/clubs/${club}/members/${row.id}`)).status, 204);
  });
});

t.test('an entity that allows a second membership, or other roles, fails at start', async (t) => {
  const changed = (name: string, properties: object, uniques: object[] = []) =>
    defineEntity({
      name,
      tableName: name.toLowerCase(),
      properties: { ...ClubMember.properties, ...properties },
      uniques,
    } as never) as never;
  const unique = { properties: ['club', 'account'] };
  const cases: readonly [object, RegExp][] = [
    [changed('Twice', {}), /option "membership" must have "club" and "account" unique together \(Twice\)/],
    [
      changed('Lacking', { role: p.enum(['owner', 'guest']) }, [unique]),
      /must allow manager, writer in "role", as option "roles" does/,
    ],
    [
      changed('More', { role: p.enum(['owner', 'manager', 'writer', 'guest', 'gest']) }, [unique]),
      /allows gest in "role", which option "roles" lacks/,
    ],
  ];
  for (const [membership, message] of cases) {
    const orm = await openSqlite(t, { entities: [...entities, membership as never] });
    const made = organizations({ ...options, membership: membership as never });
    class Views extends made.OrganizationViewSet({
      read: readShape(Club, ['id']),
      write: writeShape(Club, ['name']),
    }) {}
    const add = (app: FastifyInstance) => void app.register(new Router().register('clubs', Views).plugin);
    await t.rejects(startApp(t, orm, {}, add), { name: 'ImproperlyConfigured', message });
  }
});

t.test('wrong options fail at start', async (t) => {
  const good = { organization: Club, membership: ClubMember, name: 'club', roles: { owner: ['a'] } } as const;
  const make = (more: object) => () => organizations({ ...good, ...more } as never);
  t.throws(make({ roles: {} }), { message: /"roles" must be an object of lists of permissions/ });
  t.throws(make({ roles: { owner: 'a' } }), { message: /"roles"/ });
  t.throws(make({ ownerRole: 'boss' }), { message: /"ownerRole" must be one of the roles owner/ });
  t.throws(make({ organization: undefined }), { message: /"organization" must be an entity/ });
  t.throws(make({ owner: 'a' }), { message: /"owner"/ });
  for (const maxPerUser of [0, -1, 1.5, Infinity, '5']) {
    t.throws(make({ maxPerUser }), { message: /"maxPerUser" must be a whole number above 0/ });
  }
  t.throws(() => organizations(good).MembershipViewSet({ anyRole: true }), {
    message: /"anyRole" needs the option "permissionClasses"/,
  });
  t.throws(() => organizations(good).HasPermission('b'), { message: /no role has this permission, but a/ });
  const orm = await openSqlite(t, { entities });
  await t.rejects(startApp(t, orm, { permissions: ['notes.write'] }, addRoutes), {
    message: /HasPermission\("(organization|members)\.write"\): option "permissions" of auth has no such name/,
  });
});
