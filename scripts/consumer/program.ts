/** The first program of a user with the published packages: an account, a resource, a login, a list. */
import { MikroORM, defineEntity, p } from '@mikro-orm/sqlite';
import { LogEmailSender, auth } from '@viewset/auth';
import {
  IPRateLimit,
  IsAuthenticated,
  IsSafeMethodOnly,
  ModelViewSet,
  Router,
  action,
  readShape,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import { explorer } from '@viewset/explorer';
import { MongoExtension } from '@viewset/mongodb';
import { openapi } from '@viewset/openapi';
import fastify from 'fastify';

const RoleSchema = defineEntity({
  name: 'Role',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
class Role extends RoleSchema.class {}
RoleSchema.setClass(Role);

const AccountSchema = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(Role).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime().nullable(),
  },
});
class Account extends AccountSchema.class {}
AccountSchema.setClass(Account);

const NoteSchema = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), title: p.string().length(120), pinned: p.boolean().default(false) },
});
class Note extends NoteSchema.class {}
NoteSchema.setClass(Note);

class NoteViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id', 'title', 'pinned']),
  write: writeShape(Note, ['title', 'pinned']),
  searchFields: ['title'],
  filterFields: { pinned: 'pinned', title: 'title__icontains' },
  orderingFields: { title: 'title' },
  bulk: { create: 10, update: 10, destroy: 10 },
  permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
}) {
  total = action({ methods: ['get'] }, async (request) => ({ total: await this.getQueryset(request).count() }));
}

// On another database the extension does nothing.
const extensions = [MongoExtension];
const orm = await MikroORM.init({ dbName: ':memory:', entities: [Role, Account, Note], extensions });
await orm.schema.create();
const em = orm.em.fork();
for (const title of ['Écrire', 'Lire', 'Compter']) em.create(Note, { title });
await em.flush();

const app = fastify(serverOptions());
await app.register(openapi, { info: { title: 'Notes', version: '1.0.0' } });
await app.register(viewset, { orm, throttles: [new IPRateLimit(100, 60)] });
await app.register(explorer);
await app.register(auth, {
  account: Account,
  secret: 'a secret of at least thirty-two bytes',
  mailer: new LogEmailSender(app.log),
  nonAuthEndpoints: ['GET /api/notes*', 'POST /auth/login'],
});
const router = new Router({ prefix: 'api' }).register('notes', NoteViewSet);
/** For the second project. */
export type Api = typeof router;
await app.register(router.plugin);

await expect(
  '/api/notes?search=écrire&sort=-title',
  200,
  '{"count":1,"next":false,"previous":false,"results":[{"id":1,',
);
await expect('/api/notes/total', 200, '{"total":3}');
await expect('/api/notes?titel=x', 400, '{"error":');
await expect('/health/', 200, '{"status":"ok"');
// Over a socket, and with a password hash, which every runtime implements differently.
const address = await app.listen({ port: 0, host: '127.0.0.1' });
const login = await fetch(`${address}/auth/login`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ email: 'nobody@example.com', password: 'a wrong password' }),
});
const answer = `${login.status} ${await login.text()}`;
console.log(`POST /auth/login: ${answer}`);
if (!answer.startsWith('401 {"error":"The e-mail address or the password')) {
  throw new Error('POST /auth/login should have answered 401 for a wrong password');
}
await app.close();
await orm.close();

async function expect(url: string, status: number, beginning: string): Promise<void> {
  const response = await app.inject({ url });
  console.log(`GET ${url}: ${response.statusCode} ${response.body}`);
  if (response.statusCode === status && response.body.startsWith(beginning)) return;
  throw new Error(`GET ${url} should have answered ${status} ${beginning}…`);
}
