/** The relation of `IsOwner` refers to the accounts of `auth`, or the application does not start. */
import { defineEntity, p } from '@mikro-orm/core';
import {
  IsOwner,
  IsRoleAdminUser,
  ModelViewSet,
  type PermissionClass,
  readShape,
  Router,
  serverOptions,
  viewset,
} from '@viewset/core';
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { auth, type AuthOptions } from '../../src/index.ts';
import { SECRET } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const Author = defineEntity({ name: 'Author', properties: { id: p.integer().primary(), name: p.string() } });
const Profile = defineEntity({
  name: 'Profile',
  properties: { account: () => p.oneToOne(Account).primary(), nick: p.string() },
});
const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    author: () => p.manyToOne(Author),
    owner: () => p.manyToOne(Account),
    profile: () => p.manyToOne(Profile),
    owner_id_copy: p.integer(),
  },
});
const entities = [Account, Role, Author, Profile, Book];

async function start(
  t: Test,
  permission: PermissionClass,
  options: Partial<AuthOptions> = {},
): Promise<string | undefined> {
  class Books extends ModelViewSet(Book, { read: readShape(Book, ['id']), permissionClasses: [permission] }) {}
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm: await openSqlite(t, { entities }) });
  await app.register(auth, { account: Account, secret: SECRET, routes: ['login'], ...options } as AuthOptions);
  await app.register(new Router().register('books', Books).plugin);
  try {
    await app.ready();
    return undefined;
  } catch (error) {
    t.match(error, { code: 'improperly_configured' });
    return (error as Error).message;
  }
}

t.test('a relation to another entity fails at start', async (t) => {
  const message =
    /^Books: IsOwner\('author'\): the relation refers to Author, but users are records of Account; name a relation to Account, or a column/;
  t.match(await start(t, IsOwner('author')), message);
  t.match(await start(t, IsRoleAdminUser.or(IsOwner('author', { scope: true }))), message);
});

t.test('a relation to accounts, to records with their key, and a column are right', async (t) => {
  for (const field of ['owner', 'profile', 'owner_id_copy']) {
    t.equal(await start(t, IsOwner(field)), undefined, field);
  }
});

t.test('users that the application finds itself may have any ids', async (t) => {
  const retrieveUser = async () => null;
  t.equal(await start(t, IsOwner('author'), { retrieveUser }), undefined);
});
