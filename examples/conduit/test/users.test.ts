/** Registration, login, the current user and profiles, as the RealWorld specification has them. */
import { Follow, User } from '../src/entities.ts';
import { withConduit } from './conduit.ts';

withConduit(async (t, { orm, send, register }) => {
  const ann = { username: 'ann', email: 'Ann@Example.com', password: 'red gate north' };

  await t.test('somebody registers, logs in and is there', async (t) => {
    const registered = await send('POST', '/users', { user: ann });
    t.equal(registered.statusCode, 201);
    const { user } = registered.json<{ user: { token: string } }>();
    t.match(user, { username: 'ann', email: 'ann@example.com', bio: null, image: null, token: String });
    t.same(Object.keys(user).toSorted(), ['bio', 'email', 'image', 'token', 'username']);
    const login = await send('POST', '/users/login', { user: { email: ann.email, password: ann.password } });
    t.equal(login.statusCode, 200);
    const { token } = login.json<{ user: { token: string } }>().user;
    for (const each of [token, user.token]) {
      const current = await send('GET', '/user', undefined, each);
      t.equal(current.statusCode, 200);
      t.match(current.json(), { user: { username: 'ann', email: 'ann@example.com', token: String } });
    }
  });

  await t.test('wrong credentials, a taken name and errors of a body', async (t) => {
    const login = await send('POST', '/users/login', { user: { email: ann.email, password: 'wrong password' } });
    t.equal(login.statusCode, 401);
    t.match(login.json(), { errors: Object });
    const taken = await send('POST', '/users', { user: { ...ann, email: 'other@example.com' } });
    t.equal(taken.statusCode, 422);
    t.same(Object.keys(taken.json<{ errors: object }>().errors), ['username']);
    const faulty = await send('POST', '/users', { user: { username: '', email: 'no address', password: 'short' } });
    t.equal(faulty.statusCode, 422);
    t.same(Object.keys(faulty.json<{ errors: object }>().errors).toSorted(), ['email', 'password', 'username']);
    const bare = await send('POST', '/users', { username: 'bea' });
    t.equal(bare.statusCode, 422, 'without the envelope');
    t.match(bare.json(), { errors: { user: [String] } });
    t.equal((await send('GET', '/user')).statusCode, 401);
    t.equal((await send('GET', '/user', undefined, 'no-token')).statusCode, 401);
  });

  await t.test('the current user changes', async (t) => {
    const token = await register('carl');
    const answer = await send('PUT', '/user', { user: { bio: 'I paint', image: 'https://example.com/c.png' } }, token);
    t.equal(answer.statusCode, 200);
    t.match(answer.json(), { user: { username: 'carl', bio: 'I paint', image: 'https://example.com/c.png' } });
    const renamed = await send('PUT', '/user', { user: { username: 'karl', password: 'another password' } }, token);
    t.match(renamed.json(), { user: { username: 'karl', bio: 'I paint' } });
    const more = { role: { name: 'admin' }, isActive: false, followers: [{ follower: 1 }], id: 77 };
    t.equal((await send('PUT', '/user', { user: { bio: 'Mine', ...more } }, token)).statusCode, 200);
    t.match((await send('GET', '/profiles/karl')).json(), { profile: { bio: 'Mine', following: false } });
    t.equal(await orm.em.fork().count(User, { id: 77 }), 0);
    t.match(await orm.em.fork().findOneOrFail(User, { username: 'karl' }), { role: null, isActive: true });
    t.equal(await orm.em.fork().count(Follow), 0, 'what a user may not write is dropped');
    const login = (password: string) => send('POST', '/users/login', { user: { email: 'carl@example.com', password } });
    t.equal((await login('carl-password')).statusCode, 401);
    t.equal((await login('another password')).statusCode, 200);
    t.equal((await send('PUT', '/user', { user: { username: 'ann' } }, token)).statusCode, 422, 'taken');
    t.equal((await send('PUT', '/user', { user: { bio: 'x' } })).statusCode, 401);
  });

  await t.test('profiles are followed', async (t) => {
    const [dora, eve] = [await register('dora'), await register('eve')];
    const profile = { username: 'eve', bio: null, image: null };
    t.same((await send('GET', '/profiles/eve')).json(), { profile: { ...profile, following: false } });
    const followed = await send('POST', '/profiles/eve/follow', undefined, dora);
    t.equal(followed.statusCode, 200);
    t.same(followed.json(), { profile: { ...profile, following: true } });
    t.equal((await send('POST', '/profiles/eve/follow', undefined, dora)).statusCode, 200, 'twice is once');
    t.match((await send('GET', '/profiles/eve', undefined, dora)).json(), { profile: { following: true } });
    t.match((await send('GET', '/profiles/eve', undefined, eve)).json(), { profile: { following: false } });
    t.match((await send('GET', '/profiles/dora', undefined, eve)).json(), { profile: { following: false } });
    const unfollowed = await send('DELETE', '/profiles/eve/follow', undefined, dora);
    t.same(unfollowed.json(), { profile: { ...profile, following: false } });
    t.equal((await send('POST', '/profiles/eve/follow')).statusCode, 401);
    t.equal((await send('GET', '/profiles/nobody')).statusCode, 404);
    t.match((await send('GET', '/profiles/nobody')).json(), { errors: Object });
  });
});
