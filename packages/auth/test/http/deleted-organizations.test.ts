/** Organizations that are deleted by the option `softDelete` of their view. */
import { readShape, Router, writeShape } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { organizations } from '../../src/index.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, Club, ClubInvitation, ClubMember, ClubNote, Role } from '../support/entities.ts';

const clubs = organizations({
  organization: Club,
  membership: ClubMember,
  name: 'club',
  roles: { owner: ['organization.write', 'members.write'], manager: [], writer: [], guest: [] },
});
const email = () => ({ subject: 'Join us', content: 'Log in' });
class Received extends clubs.ReceivedInvitationViewSet(ClubInvitation) {}
class Invitations extends clubs.InvitationViewSet(ClubInvitation, { email }) {}
class Members extends clubs.MembershipViewSet() {}
class Clubs extends clubs.OrganizationViewSet({
  read: readShape(Club, ['id', 'name']),
  write: writeShape(Club, ['name']),
  softDelete: 'deleted_at',
}) {}

function addRoutes(app: FastifyInstance): void {
  const router = new Router({ prefix: 'api' })
    .register('clubs', Clubs)
    .register('clubs/:club/members', Members)
    .register('clubs/:club/invitations', Invitations)
    .register('invitations', Received);
  void app.register(router.plugin);
}

const entities = [Account, Role, Club, ClubMember, ClubNote, ClubInvitation];

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await startApp(t, orm, { me: {} }, addRoutes);
  const person = async (address: string) => {
    const { id } = await app.addAccount(address);
    return { authorization: `Bearer ${app.app.auth.issueToken({ id, email: address, name: 'Ann', role: null })}` };
  };
  const [ann, bob] = [await person('ann@example.com'), await person('bob@example.com')];
  const make = async (): Promise<string> =>
    `/api/clubs/${String((await app.post('/api/clubs', { name: 'Go' }, ann)).body['id'])}`;
  const [kept, deleted] = [await make(), await make()];
  const json = { email: 'bob@example.com', role: 'guest' };
  const [open, gone] = [
    await app.post(`${kept}/invitations`, json, ann),
    await app.post(`${deleted}/invitations`, json, ann),
  ];
  t.match([open.status, gone.status], [201, 201]);
  t.equal((await app.request('DELETE', deleted, { headers: ann })).status, 204);

  t.test('nobody is invited to a deleted organization any more', async (t) => {
    const { results } = (await app.request('GET', '/api/invitations', { headers: bob })).body as never as {
      results: object[];
    };
    t.match(results, [{ id: open.body['id'], organization: 'Go' }]);
    const accept = await app.request('POST', `/api/invitations/${String(gone.body['id'])}/accept`, { headers: bob });
    t.equal(accept.status, 404);
    t.equal(await orm.em.fork().count(ClubMember, { role: 'guest' }), 0);
  });

  t.test('a deleted organization needs no owner', async (t) => {
    const leave = () => app.request('DELETE', '/auth/me', { headers: ann, json: { password: PASSWORD } });
    t.equal((await leave()).status, 409, 'the other one does');
    t.equal((await app.request('DELETE', kept, { headers: ann })).status, 204);
    t.equal((await leave()).status, 204);
  });
});
