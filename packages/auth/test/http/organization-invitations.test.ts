/** Invitations to organizations: members send them, and people accept or decline them. */
import { readShape, Router, UserRateLimit, writeShape } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { organizations, type RetrieveUser } from '../../src/index.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, ApiKey, Club, ClubInvitation, ClubMember, ClubNote, Role } from '../support/entities.ts';

const clubs = organizations({
  organization: Club,
  membership: ClubMember,
  name: 'club',
  roles: {
    owner: ['organization.write', 'members.write', 'notes.write'],
    manager: ['members.write', 'notes.write'],
    writer: ['notes.write'],
    guest: [],
  },
});

class Clubs extends clubs.OrganizationViewSet({ read: readShape(Club, ['id']), write: writeShape(Club, ['name']) }) {}
class Members extends clubs.MembershipViewSet() {}
class Invitations extends clubs.InvitationViewSet(ClubInvitation, {
  email: async ({ id, role, organization }, { em }) => {
    const { name } = await em.findOneOrFail(Club, { id: organization as number });
    return { subject: `Join ${name}`, content: `https://app.example.com/invitations/${String(id)} as ${role}` };
  },
}) {}
class Added extends clubs.MembershipViewSet({
  write: {
    create: writeShape(ClubMember, ['role'], { account: 'account.email' }),
    update: writeShape(ClubMember, ['role']),
  },
  operations: ['create'],
}) {}
class Received extends clubs.ReceivedInvitationViewSet(ClubInvitation) {}

function addRoutes(app: FastifyInstance): void {
  const router = new Router({ prefix: 'api' })
    .register('clubs', Clubs)
    .register('clubs/:club/members', Members)
    .register('clubs/:club/invitations', Invitations)
    .register('clubs/:club/added', Added)
    .register('invitations', Received);
  void app.register(router.plugin);
}

const entities = [Account, Role, ApiKey, Club, ClubMember, ClubNote, ClubInvitation];
type MemberRole = 'owner' | 'manager' | 'writer' | 'guest';

interface Sent {
  readonly status: number;
  readonly body: {
    readonly id: number;
    readonly results: { id: number; [name: string]: unknown }[];
    readonly [name: string]: unknown;
  };
}
interface Person {
  readonly id: number;
  readonly email: string;
  readonly token: string;
}

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await startApp(t, orm, { me: {}, apiKeys: ApiKey }, addRoutes);
  let people = 0;
  const send = async ({ token }: { token: string }, method: string, path: string, json?: unknown): Promise<Sent> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await app.request(method, `/api${path}`, { headers, ...(json !== undefined && { json }) });
    return { status: answer.status, body: answer.body as never };
  };
  const person = async (): Promise<Person> => {
    const email = `person${++people}@example.com`;
    const { id } = await app.addAccount(email);
    return { id, email, token: app.app.auth.issueToken({ id, email, name: 'Ann', role: null }) };
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
  const roleOf = async (clubId: number, { id }: { id: number }) =>
    (await orm.em.fork().findOne(ClubMember, { club: { id: clubId }, account: { id } }))?.role;
  const count = (clubId: number) => orm.em.fork().count(ClubInvitation, { club: { id: clubId } });
  const expire = (id: number) =>
    orm.em.fork().nativeUpdate(ClubInvitation, { id }, { expires_at: new Date(Date.now() - 1000) });

  t.test('a member invites an address, and the person accepts', async (t) => {
    const { id, path, members } = await club('manager');
    const bob = await person();
    const mails = app.mailer.mails.length;
    const before = Date.now();
    const spelled = ` ${bob.email.toUpperCase()} `;
    const made = await send(members[0]!, 'POST', `${path}/invitations`, { email: spelled, role: 'writer' });
    t.match(made, { status: 201, body: { email: bob.email, role: 'writer', invited_by: 'Ann', expires_at: String } });
    const hours = (Date.parse(made.body['expires_at'] as string) - before) / 3_600_000;
    t.equal(Math.round(hours), 168);
    t.equal(app.mailer.mails.length, mails + 1);
    t.match(app.mailer.mails.at(-1), {
      recipient: bob.email,
      subject: 'Join Chess',
      content: `https://app.example.com/invitations/${made.body.id} as writer`,
    });
    t.match((await send(members[0]!, 'GET', `${path}/invitations?role=writer`)).body.results, [{ id: made.body.id }]);

    const received = await send(bob, 'GET', '/invitations');
    t.match(received.body.results, [{ id: made.body.id, role: 'writer', organization: 'Chess', invited_by: 'Ann' }]);
    t.equal((await send(bob, 'GET', path)).status, 404);
    t.same(await send(bob, 'POST', `/invitations/${made.body.id}/accept`), { status: 204, body: {} });
    t.equal(await roleOf(id, bob), 'writer');
    t.equal((await send(bob, 'GET', path)).status, 200);
    t.equal((await send(bob, 'POST', `/invitations/${made.body.id}/accept`)).status, 404, 'a second time');
    t.equal(await count(id), 0);
  });

  t.test('an API key with scopes neither accepts nor declines', async (t) => {
    const { id, path, members } = await club('manager');
    const bob = await person();
    const { body } = await send(members[0]!, 'POST', `${path}/invitations`, { email: bob.email, role: 'writer' });
    const by = { authorization: `Bearer ${bob.token}` };
    const keyOf = async (scopes?: readonly string[]) => {
      const made = await app.post('/auth/api-keys', { name: 'x', password: PASSWORD, scopes }, by);
      return { token: made.body['key'] as never as string };
    };
    const key = await keyOf(['members.write', 'notes.write']);
    t.equal((await send(key, 'GET', '/invitations')).status, 200);
    t.equal((await send(key, 'POST', `/invitations/${body.id}/accept`)).status, 403);
    t.equal((await send(key, 'DELETE', `/invitations/${body.id}`)).status, 403);
    t.equal(await count(id), 1);
    t.equal((await send(await keyOf(), 'POST', `/invitations/${body.id}/accept`)).status, 204, 'without scopes it may');
    t.equal(await roleOf(id, bob), 'writer');
  });

  t.test('an API key with scopes invites only to roles whose permissions are among its scopes', async (t) => {
    const { id, path, members } = await club('owner');
    const [ann] = members;
    for (const [scopes, gives] of [
      [['members.write'], ['guest']],
      [
        ['members.write', 'notes.write', 'organization.write'],
        ['guest', 'writer', 'manager'],
      ],
      [undefined, ['guest', 'writer', 'manager', 'owner']],
    ] as const) {
      const body = { name: 'x', password: PASSWORD, ...(scopes && { scopes }) };
      const made = await app.post('/auth/api-keys', body, { authorization: `Bearer ${ann!.token}` });
      const key = { token: made.body['key'] as never as string };
      for (const role of ['guest', 'writer', 'manager', 'owner'] as const) {
        const isGiven = (gives as readonly MemberRole[]).includes(role);
        const [email, other] = [(await person()).email, (await person()).email];
        const before = await count(id);
        const sent = await send(key, 'POST', `${path}/invitations`, { email, role });
        t.equal(sent.status, isGiven ? 201 : 403, `${String(scopes)} invites to ${role}`);
        t.equal(await count(id), before + (isGiven ? 1 : 0));
        const open = await send(ann!, 'POST', `${path}/invitations`, { email: other, role });
        const at = `${path}/invitations/${open.body.id}`;
        t.equal((await send(key, 'POST', `${at}/resend`)).status, isGiven ? 204 : 403, `sends ${role} again`);
        t.equal((await send(key, 'DELETE', at)).status, isGiven ? 204 : 403, `revokes ${role}`);
      }
    }
  });

  t.test('only the person of the address accepts, declines or sees an invitation', async (t) => {
    const { id, path, members } = await club('owner');
    const [bob, eve] = [await person(), await person()];
    const made = await send(members[0]!, 'POST', `${path}/invitations`, { email: bob.email, role: 'guest' });
    const open = `/invitations/${made.body.id}`;
    for (const other of [eve, members[0]!]) {
      t.equal((await send(other, 'GET', '/invitations')).body['count'], 0);
      t.equal((await send(other, 'GET', open)).status, 404);
      t.equal((await send(other, 'POST', `${open}/accept`)).status, 404);
      t.equal((await send(other, 'DELETE', open)).status, 404);
    }
    t.equal((await app.request('POST', `/api${open}/accept`)).status, 401);
    t.equal((await app.request('GET', '/api/invitations')).status, 401);
    t.equal((await send(bob, 'DELETE', open)).status, 204, 'declines');
    t.equal((await send(bob, 'POST', `${open}/accept`)).status, 404);
    t.equal(await roleOf(id, bob), undefined);
    t.equal(await roleOf(id, eve), undefined);
  });

  t.test('an invitation can be accepted from an address that the account has changed to', async (t) => {
    const { id, path, members } = await club('owner');
    const bob = await person();
    const email = `new${bob.email}`;
    const made = await send(members[0]!, 'POST', `${path}/invitations`, { email, role: 'guest' });
    t.equal((await send(bob, 'POST', `/invitations/${made.body.id}/accept`)).status, 404);
    await orm.em.fork().nativeUpdate(Account, { id: bob.id }, { email });
    t.equal((await send(bob, 'POST', `/invitations/${made.body.id}/accept`)).status, 204);
    t.equal(await roleOf(id, bob), 'guest');
  });

  t.test('members who manage members invite, to roles with no more rights than theirs', async (t) => {
    const { id, path, members } = await club('owner', 'manager', 'writer', 'guest');
    const [owner, manager, writer, guest] = members;
    const eve = await person();
    const other = await club('owner');
    for (const [by, role, status] of [
      [owner!, 'owner', 201],
      [owner!, 'emperor', 400],
      [manager!, 'owner', 403],
      [manager!, 'manager', 201],
      [writer!, 'guest', 403],
      [guest!, 'guest', 403],
      [eve, 'guest', 404],
      [other.members[0]!, 'guest', 404],
    ] as const) {
      const sent = await send(by, 'POST', `${path}/invitations`, { email: `for${++people}@example.com`, role });
      t.equal(sent.status, status, `${role} by ${by.email}`);
    }
    for (const [by, status] of [
      [manager!, 200],
      [writer!, 403],
      [eve, 404],
      [other.members[0]!, 404],
    ] as const) {
      t.equal((await send(by, 'GET', `${path}/invitations`)).status, status);
    }
    t.equal((await app.request('GET', `/api${path}/invitations`)).status, 401);
    for (const email of ['x', 'mi\u212ae@example.org', 'a@b', 'x@example.com\r\nBcc: y@example.com', '']) {
      const sent = await send(owner!, 'POST', `${path}/invitations`, { email, role: 'guest' });
      t.match(sent, { status: 400, body: { details: [{ path: '/email' }] } }, email);
    }
    const byDefault = await send(manager!, 'POST', `${path}/invitations`, { email: `for${++people}@example.com` });
    t.match(byDefault, { status: 201, body: { role: 'guest' } }, 'the default of the column');
    const mine = (await send(owner!, 'GET', `${path}/invitations`)).body.results;
    t.equal(mine.length, 3);
    const { id: ofOwner } = mine.find(({ role }) => role === 'owner')!;
    t.equal((await send(manager!, 'DELETE', `${path}/invitations/${ofOwner}`)).status, 403);
    t.equal((await send(manager!, 'POST', `${path}/invitations/${ofOwner}/resend`)).status, 403);
    t.equal((await send(writer!, 'POST', `${path}/invitations/${ofOwner}/resend`)).status, 403);
    t.equal((await send(other.members[0]!, 'DELETE', `${other.path}/invitations/${ofOwner}`)).status, 404);
    t.equal((await send(other.members[0]!, 'POST', `${other.path}/invitations/${ofOwner}/resend`)).status, 404);
    t.equal(await count(id), 3);
  });

  t.test('a member, and an address that is invited already, give 409 without a mail', async (t) => {
    const { id, path, members } = await club('owner', 'guest');
    const bob = await person();
    const invite = (email: string) => send(members[0]!, 'POST', `${path}/invitations`, { email, role: 'writer' });
    t.equal((await invite(bob.email)).status, 201);
    const mails = app.mailer.mails.length;
    t.match(await invite(bob.email.toUpperCase()), { status: 409, body: { code: 'conflict' } });
    const member = await invite(members[1]!.email.toUpperCase());
    t.match(member, { status: 409, body: { details: [{ path: '/email', message: 'belongs to a member' }] } });
    t.equal(app.mailer.mails.length, mails);
    t.equal(await count(id), 1);
    const other = await club('owner');
    const again = { email: bob.email, role: 'guest' };
    t.equal((await send(other.members[0]!, 'POST', `${other.path}/invitations`, again)).status, 201, 'another club');
    t.equal((await send(bob, 'GET', '/invitations')).body['count'], 2);
  });

  t.test('an invitation expires, can be sent again, and makes room for a new one', async (t) => {
    const { id, path, members } = await club('owner');
    const bob = await person();
    const json = { email: bob.email, role: 'guest' };
    const first = (await send(members[0]!, 'POST', `${path}/invitations`, json)).body.id;
    await expire(first);
    t.equal((await send(bob, 'GET', '/invitations')).body['count'], 0);
    t.equal((await send(bob, 'POST', `/invitations/${first}/accept`)).status, 404);
    t.equal((await send(members[0]!, 'POST', `${path}/invitations/${first}/resend`)).status, 204);
    t.equal((await send(bob, 'GET', '/invitations')).body['count'], 1);
    await expire(first);
    const second = await send(members[0]!, 'POST', `${path}/invitations`, json);
    t.equal(second.status, 201);
    t.equal(await count(id), 1);
    t.equal((await send(bob, 'POST', `/invitations/${second.body.id}/accept`)).status, 204);
  });

  t.test('a revoked invitation cannot be accepted', async (t) => {
    const { id, path, members } = await club('owner', 'manager');
    const bob = await person();
    const json = { email: bob.email, role: 'guest' };
    const made = (await send(members[0]!, 'POST', `${path}/invitations`, json)).body.id;
    t.equal((await send(members[1]!, 'DELETE', `${path}/invitations/${made}`)).status, 204);
    t.equal((await send(bob, 'POST', `/invitations/${made}/accept`)).status, 404);
    t.equal(await roleOf(id, bob), undefined);
  });

  t.test('an invitation is void if its sender may not invite any more', async (t) => {
    const { id, path, members } = await club('owner', 'manager', 'owner');
    const [owner, manager, second] = members;
    const bob = await person();
    const invite = async (by: Person, role: string) =>
      (await send(by, 'POST', `${path}/invitations`, { email: bob.email, role })).body.id;
    const change = (role: string, { row } = manager!) => send(owner!, 'PATCH', `${path}/members/${row}`, { role });
    const made = await invite(manager!, 'guest');
    t.equal((await change('writer')).status, 200);
    const sent = await send(bob, 'POST', `/invitations/${made}/accept`);
    t.match(sent, { status: 409, body: { code: 'conflict' } });
    t.equal(await count(id), 1);
    t.equal((await change('manager')).status, 200);
    t.equal((await send(owner!, 'DELETE', `${path}/members/${manager!.row}`)).status, 204);
    t.equal((await send(bob, 'POST', `/invitations/${made}/accept`)).status, 409, 'the sender has left');
    t.equal((await send(owner!, 'POST', `${path}/invitations/${made}/resend`)).status, 204);
    t.equal((await send(bob, 'POST', `/invitations/${made}/accept`)).status, 204, 'another member sent it again');
    t.equal(
      (
        await send(
          bob,
          'DELETE',
          `${path}/members/${(await send(bob, 'GET', `${path}/members?role=guest`)).body.results[0]!.id}`,
        )
      ).status,
      204,
    );
    const asOwner = await invite(second!, 'owner');
    t.equal((await change('manager', second)).status, 200);
    t.equal((await send(bob, 'POST', `/invitations/${asOwner}/accept`)).status, 409);
    t.equal(await roleOf(id, bob), undefined);
  });

  t.test('nobody who is removed comes back by an old invitation', async (t) => {
    const { id, path, members } = await club('owner');
    const [owner] = members;
    const bob = await person();
    const json = { email: bob.email, role: 'manager' };
    const other = await club('owner');
    const elsewhere = await send(other.members[0]!, 'POST', `${other.path}/invitations`, json);
    const made = (await send(owner!, 'POST', `${path}/invitations`, json)).body.id;
    // Meanwhile the person became a member in another way.
    const em = orm.em.fork();
    const row = em.create(ClubMember, { club: id, account: bob.id, role: 'guest' });
    await em.flush();
    t.equal((await send(owner!, 'DELETE', `${path}/members/${row.id}`)).status, 204);
    t.equal((await send(bob, 'POST', `/invitations/${made}/accept`)).status, 404);
    t.equal(await roleOf(id, bob), undefined);
    t.match((await send(bob, 'GET', '/invitations')).body.results, [{ id: elsewhere.body.id }], 'of another club');
    t.equal((await send(owner!, 'POST', `${path}/invitations`, json)).status, 201, 'but may be invited again');
    const added = await send(owner!, 'POST', `${path}/added`, { account: bob.email, role: 'guest' });
    t.equal(added.status, 201);
    t.equal(await count(id), 0, 'a member needs none');
  });

  t.test('many invitations of an address use up none of its codes', async (t) => {
    const { email } = await person();
    const statuses: number[] = [];
    for (let each = 0; each < 6; each++) {
      const { path, members } = await club('owner');
      statuses.push((await send(members[0]!, 'POST', `${path}/invitations`, { email, role: 'guest' })).status);
    }
    t.same(statuses, [201, 201, 201, 201, 201, 429]);
    for (const status of [200, 200, 200, 200, 200, 429]) {
      t.equal((await app.post('/auth/send-verification-email', { email })).status, status);
    }
  });

  t.test('a similar address is another one', async (t) => {
    const { path, members } = await club('owner');
    const name = `alice${++people}@example.com`;
    for (const email of [name, name.slice(1), `x${name}`, name.replace('@', '+1@'), `${name}.uk`]) {
      const sent = await send(members[0]!, 'POST', `${path}/invitations`, { email, role: 'guest' });
      t.equal(sent.status, 201, email);
    }
  });

  t.test('the last owner invites an owner, and can then leave', async (t) => {
    const { id, path, members } = await club('owner');
    const bob = await person();
    const leave = () => send(members[0]!, 'DELETE', `${path}/members/${members[0]!.row}`);
    const json = { email: bob.email, role: 'owner' };
    const made = (await send(members[0]!, 'POST', `${path}/invitations`, json)).body.id;
    t.equal((await leave()).status, 409, 'an open invitation is no owner');
    t.equal((await send(bob, 'POST', `/invitations/${made}/accept`)).status, 204);
    t.equal((await leave()).status, 204);
    t.equal(await roleOf(id, bob), 'owner');
  });

  t.test('a person who became a member meanwhile keeps the role', async (t) => {
    const { id, path, members } = await club('owner');
    const bob = await person();
    const json = { email: bob.email, role: 'owner' };
    const made = (await send(members[0]!, 'POST', `${path}/invitations`, json)).body.id;
    const em = orm.em.fork();
    em.create(ClubMember, { club: id, account: bob.id, role: 'guest' });
    await em.flush();
    t.equal((await send(bob, 'POST', `/invitations/${made}/accept`)).status, 204);
    t.equal(await roleOf(id, bob), 'guest');
    t.equal(await count(id), 0);
  });

  t.test('of simultaneous requests about one invitation one succeeds', async (t) => {
    for (let round = 0; round < 6; round++) {
      const { id, path, members } = await club('owner');
      const bob = await person();
      const json = { email: bob.email, role: 'guest' };
      const made = (await send(members[0]!, 'POST', `${path}/invitations`, json)).body.id;
      const accept = () => send(bob, 'POST', `/invitations/${made}/accept`);
      const others = [
        accept,
        () => send(bob, 'DELETE', `/invitations/${made}`),
        () => send(members[0]!, 'DELETE', `${path}/invitations/${made}`),
      ];
      const sent = await Promise.all([accept(), others[round % 3]!()]);
      const statuses = sent.map(({ status }) => status);
      t.same(new Set(statuses), new Set([204, 404]), String(round));
      t.equal(await roleOf(id, bob), round % 3 === 0 || statuses[0] === 204 ? 'guest' : undefined);
      t.equal(await count(id), 0);
    }
  });

  t.test('of two simultaneous invitations of an address one is stored and mailed', async (t) => {
    const { id, path, members } = await club('owner');
    const bob = await person();
    const mails = app.mailer.mails.length;
    const invite = () => send(members[0]!, 'POST', `${path}/invitations`, { email: bob.email, role: 'guest' });
    const sent = await Promise.all([invite(), invite()]);
    t.same(new Set(sent.map(({ status }) => status)), new Set([201, 409]));
    t.equal(await count(id), 1);
    t.equal(app.mailer.mails.length, mails + 1);
  });

  t.test('an invitation whose mail is not sent is not kept', async (t) => {
    const { id, path, members } = await club('owner');
    const bob = await person();
    const invite = () => send(members[0]!, 'POST', `${path}/invitations`, { email: bob.email, role: 'guest' });
    app.mailer.failure = new Error('no mail server');
    t.equal((await invite()).status, 503);
    t.equal(await count(id), 0);
    app.mailer.failure = undefined;
    const made = (await invite()).body.id;
    const before = (await orm.em.fork().findOneOrFail(ClubInvitation, { id: made })).expires_at;
    app.mailer.failure = new Error('no mail server');
    t.equal((await send(members[0]!, 'POST', `${path}/invitations/${made}/resend`)).status, 503);
    app.mailer.failure = undefined;
    t.same((await orm.em.fork().findOneOrFail(ClubInvitation, { id: made })).expires_at, before);
    for (let mail = 0; mail < 4; mail++) {
      t.equal((await send(members[0]!, 'POST', `${path}/invitations/${made}/resend`)).status, 204);
    }
    t.equal((await send(members[0]!, 'POST', `${path}/invitations/${made}/resend`)).status, 429, 'five mails');
  });
});

t.test('one user sends a bounded number of invitations a day, to whatever addresses', async (t) => {
  const orm = await openSqlite(t, { entities });
  const text = () => ({ subject: 'Join us', content: 'x' });
  class Few extends clubs.InvitationViewSet(ClubInvitation, { email: text, maxPerDay: 3 }) {}
  class Throttled extends clubs.InvitationViewSet(ClubInvitation, { email: text }) {
    override throttles = [new UserRateLimit(1, 60)];
  }
  class ThrottledReceived extends clubs.ReceivedInvitationViewSet(ClubInvitation) {
    override throttles = [new UserRateLimit(1, 60)];
  }
  const app = await startApp(t, orm, {}, (instance) => {
    const router = new Router({ prefix: 'api' })
      .register('clubs', Clubs)
      .register('clubs/:club/invitations', Few)
      .register('clubs/:club/throttled', Throttled)
      .register('received', ThrottledReceived);
    void instance.register(router.plugin);
  });
  const person = async (email: string) => {
    const { id } = await app.addAccount(email);
    return { authorization: `Bearer ${app.app.auth.issueToken({ id, email, name: 'Ann', role: null })}` };
  };
  const [ann, bob] = [await person('ann@example.com'), await person('bob@example.com')];
  const make = async (by: Record<string, string>) =>
    `/api/clubs/${(await app.post('/api/clubs', { name: 'Go' }, by)).body['id'] as unknown as number}`;
  const invite = (by: Record<string, string>, club: string, name: string, view = 'invitations') =>
    app.post(`${club}/${view}`, { email: `${name}@example.com`, role: 'guest' }, by);
  const [first, second, other] = [await make(ann), await make(ann), await make(bob)];
  app.mailer.failure = new Error('no mail server');
  t.equal((await invite(ann, first, 'zero')).status, 503, 'not counted');
  app.mailer.failure = undefined;
  const made = await invite(ann, first, 'one');
  t.equal(made.status, 201);
  const resend = () => app.post(`${first}/invitations/${String(made.body['id'])}/resend`, undefined, ann);
  t.equal((await resend()).status, 204, 'counts too');
  t.equal((await invite(ann, second, 'two')).status, 201, 'of all organizations together');
  const refused = await invite(ann, second, 'three');
  t.match(refused, { status: 429, body: { error: /You have sent too many invitations/ } });
  t.ok(Number(refused.headers.get('retry-after')) > 3600);
  t.equal((await resend()).status, 429);
  t.equal(await orm.em.fork().count(ClubInvitation, { email: 'three@example.com' }), 0);
  t.equal((await invite(bob, other, 'three')).status, 201, 'another user');
  t.equal((await invite(bob, other, 'four', 'throttled')).status, 201);
  t.match(await invite(bob, other, 'five', 'throttled'), { status: 429 }, 'throttles of the class');
  const received = () => app.request('GET', '/api/received', { headers: bob });
  t.same([(await received()).status, (await received()).status], [200, 429]);
});

t.test('an address that the account had until now accepts nothing', async (t) => {
  const orm = await openSqlite(t, { entities });
  const app = await startApp(t, orm, { userCacheSeconds: 60 }, addRoutes);
  const person = async (email: string) => {
    const { id } = await app.addAccount(email);
    return { id, authorization: `Bearer ${app.app.auth.issueToken({ id, email, name: 'Ann', role: null })}` };
  };
  const [ann, bob] = [await person('ann@example.com'), await person('bob@example.com')];
  const club = (await app.post('/api/clubs', { name: 'Go' }, { authorization: ann.authorization })).body['id'] as never;
  const headers = { authorization: bob.authorization };
  t.equal((await app.request('GET', '/api/invitations', { headers })).status, 200, 'the user is cached');
  await orm.em.fork().nativeUpdate(Account, { id: bob.id }, { email: 'new@example.com' });
  const json = { email: 'bob@example.com', role: 'guest' };
  const by = { authorization: ann.authorization };
  const made = await app.post(`/api/clubs/${String(club)}/invitations`, json, by);
  const path = `/api/invitations/${String(made.body['id'])}/accept`;
  t.equal((await app.request('POST', path, { headers })).status, 404);
  t.equal(await orm.em.fork().count(ClubMember, { account: { id: bob.id } }), 0);
});

t.test('invitations need users with an address, and a mailer', async (t) => {
  const orm = await openSqlite(t, { entities });
  const withoutEmail: RetrieveUser = async ({ em }, payload) => {
    const found = await em.findOne(Account, { id: payload?.user_id as number });
    return found && ({ id: found.id, name: found.name } as never);
  };
  const app = await startApp(t, orm, { retrieveUser: withoutEmail }, addRoutes);
  const { id, email } = await app.addAccount('ann@example.com');
  const headers = { authorization: `Bearer ${app.app.auth.issueToken({ id, email, name: 'Ann', role: null })}` };
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/1'],
    ['POST', '/1/accept'],
    ['DELETE', '/1'],
  ] as const) {
    const answer = await app.request(method, `/api/invitations${path}`, { headers });
    t.match(answer, { status: 500, body: { code: 'improperly_configured' } }, `${method} ${path}`);
  }
  const without = { mailer: undefined, routes: ['login'] } as const;
  await t.rejects(startApp(t, await openSqlite(t, { entities }), without as never, addRoutes), {
    message: /a view that sends mail needs the plugin auth with the option "mailer"/,
  });
});

t.test('wrong options of invitations fail at start', async (t) => {
  const email = () => ({ subject: '', content: '' });
  const make = (options: object) => () => clubs.InvitationViewSet(ClubInvitation, options as never);
  t.throws(make({}), { message: /"email" must be a function/ });
  t.throws(make({ email, lifetimeHours: 0 }), { message: /"lifetimeHours" must be a number above 0, at most 8760/ });
  t.throws(make({ email, lifetimeHours: 8761 }), { message: /"lifetimeHours"/ });
  for (const maxPerDay of [0, 1.5, '5', 10_001]) {
    t.throws(make({ email, maxPerDay }), { message: /"maxPerDay" must be a whole number from 1 to 10000/ });
  }
  t.throws(make({ email, bulk: 5 }), { message: /"bulk"/ });
});
