/** `app.viewset.admitsSender` and `writeShapeOf`: what a view says of the sender of a request, before anything else is known. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import t from 'tap';
import {
  Forbidden,
  IsAuthenticated,
  IsOwner,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  ModelViewSet,
  type OperationPlan,
  Permission,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, LIBRARY, Publisher, testApp } from '../../support/library.ts';

const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title']);
const nameOf = ({ user }: FastifyRequest): string => (user as { role: { name: string } } | null)?.role.name ?? '';

class IsOfPublisher extends Permission {
  override hasPermission({ params }: FastifyRequest): boolean {
    return (params as { publisher?: string }).publisher === '1';
  }
}
class HasTitle extends Permission {
  override hasPermission({ body }: FastifyRequest): boolean {
    return (body as { title?: string }).title !== undefined;
  }
}
class HasToken extends Permission {
  override hasPermission({ query }: FastifyRequest): boolean {
    return (query as { token?: string }).token !== undefined;
  }
}
class IsNotBanned extends Permission {
  override async hasPermission(request: FastifyRequest): Promise<boolean> {
    await new Promise((resolve) => setImmediate(resolve));
    if (nameOf(request) === 'banned') throw new Forbidden('You are banned');
    if (nameOf(request) === 'broken') throw new TypeError('a bug');
    return true;
  }
}
class Reads extends ModelViewSet(Book, { read, write, permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)] }) {}
class Admin extends ModelViewSet(Book, { read, permissionClasses: [IsRoleAdminUser] }) {}
class OfPublisher extends ModelViewSet(Book, { read, permissionClasses: [IsOfPublisher] }) {}
class Titled extends ModelViewSet(Book, { read, write, operations: ['create'], permissionClasses: [HasTitle] }) {}
class Tokened extends ModelViewSet(Book, { read, permissionClasses: [HasToken] }) {}
class Banning extends ModelViewSet(Book, { read, permissionClasses: [IsNotBanned] }) {}
class Hiding extends ModelViewSet(Book, { read, permissionClasses: [IsOwner('pages', { scope: true })] }) {}

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  const router = new Router()
    .register('reads', Reads)
    .register('admin', Admin)
    .register(
      'publishers',
      class PublisherViewSet extends ModelViewSet(Publisher, { read: readShape(Publisher, ['id']) }) {},
    )
    .register('publishers/:publisher/books', OfPublisher)
    .register('titled', Titled)
    .register('tokened', Tokened)
    .register('banning', Banning)
    .register('hiding', Hiding);
  let asked: readonly string[] = [];
  const admitted = async (app: FastifyInstance, request: FastifyRequest): Promise<string[]> => {
    const found: string[] = [];
    for (const plan of app.viewset.operations) {
      if (!asked.includes(plan.view.basename)) continue;
      if (await app.viewset.admitsSender(request, plan)) found.push(plan.operationId);
    }
    return found;
  };
  const app = await testApp(t, orm, [router], {
    before: (made) => void made.get('/ask', { config: { public: true } }, (request) => admitted(made, request)),
  });
  const ask = async (names: readonly string[], user?: string) => {
    asked = names;
    const response = await app.inject({ url: '/ask', headers: user === undefined ? {} : { 'x-user': user } });
    return response.statusCode === 200 ? response.json<string[]>() : response.statusCode;
  };

  t.test('admitsSender checks the permissions for this user', async (t) => {
    t.strictSame(await ask(['reads', 'admin']), ['listReads', 'retrieveRead']);
    t.match(await ask(['reads', 'admin'], 'ann'), ['listReads', 'createRead', 'retrieveRead', 'replaceRead']);
    t.match(await ask(['admin'], 'admin'), ['listAdmin', /.*/]);
  });

  t.test('admitsSender does not refuse because of unknown records, keys, bodies or query strings', async (t) => {
    t.match(await ask(['publishers-books']), ['listPublisherBooks', 'retrievePublisherBook']);
    t.match(await ask(['titled']), ['createTitled']);
    t.equal(((await ask(['tokened'])) as string[]).length, 2);
    t.equal(((await ask(['hiding'], 'ann')) as string[]).length, 2, 'a scope that shows nothing refuses no request');
  });

  t.test('admitsSender treats a custom refusal as a refusal, and any other error as an error', async (t) => {
    t.strictSame(await ask(['banning'], 'banned'), []);
    t.equal(((await ask(['banning'], 'ann')) as string[]).length, 2);
    t.equal(await ask(['banning'], 'broken'), 500);
  });

  t.test('admitsSender is false for a plan of another application', async (t) => {
    const other = {} as OperationPlan;
    t.equal(await app.viewset.admitsSender({} as FastifyRequest, other), false);
  });
});

t.test('writeShapeOf returns the write shape if it depends on the sender only', async (t) => {
  const { openSqlite } = await import('../../support/databases.ts');
  const orm = await openSqlite(t, { entities: LIBRARY });
  const shapes = { default: write, staff: writeShape(Book, ['title', 'pages']) };
  class ByRole extends ModelViewSet(Book, { read, write: shapes }) {
    override writeShapeFor(request: FastifyRequest) {
      if (nameOf(request) === 'banned') throw new Forbidden('You are banned');
      if (nameOf(request) === 'broken') throw new TypeError('a bug');
      return nameOf(request) === 'staff' ? ('staff' as const) : undefined;
    }
  }
  class ByBody extends ModelViewSet(Book, { read, write: shapes }) {
    override writeShapeFor({ body }: FastifyRequest) {
      return (body as { pages?: number }).pages === undefined ? undefined : ('staff' as const);
    }
  }
  class ByKey extends ModelViewSet(Book, { read, write: shapes }) {
    override writeShapeFor({ params }: FastifyRequest) {
      return (params as { pk: string }).pk.length === 1 ? ('staff' as const) : undefined;
    }
  }
  const router = new Router()
    .register('roles', ByRole)
    .register('bodies', ByBody)
    .register('keys', ByKey)
    .register('reads', Reads);
  const app = await testApp(t, orm, [router], {
    before: (made) =>
      void made.get('/ask/:id', { config: { public: true } }, async (request) => {
        const { id } = request.params as { readonly id: string };
        const plan = made.viewset.operations.find(({ operationId }) => operationId === id);
        if (plan === undefined) throw new TypeError(`no operation ${id}`);
        return { shape: (await made.viewset.writeShapeOf(request, plan)) ?? null };
      }),
  });
  const ask = async (id: string, user: string) => {
    const { statusCode, body } = await app.inject({ url: `/ask/${id}`, headers: { 'x-user': user } });
    return statusCode === 200 ? (JSON.parse(body) as { shape: string | null }).shape : statusCode;
  };
  t.equal(await ask('createRole', 'staff'), 'staff');
  t.equal(await ask('updateRole', 'staff'), 'staff');
  t.equal(await ask('createRole', 'ann'), 'default');
  t.equal(await ask('createRole', 'banned'), null);
  t.equal(await ask('createRole', 'broken'), 500);
  t.equal(await ask('createBody', 'staff'), null, 'the body decides');
  t.equal(await ask('updateKey', 'staff'), null, 'the key decides');
  t.equal(await ask('createRead', 'staff'), null, 'there is one shape');
  t.equal(await ask('listRoles', 'staff'), null, 'there is no body');
});

t.test('admitsSender is false without a token on a route that needs one', async (t) => {
  const { openSqlite } = await import('../../support/databases.ts');
  const orm = await openSqlite(t, { entities: LIBRARY });
  class Open extends ModelViewSet(Book, { read }) {}
  const answers: boolean[] = [];
  const app = await testApp(t, orm, [new Router().register('open', Open)], {
    before: (made) => {
      made.addHook('onRoute', (route) => {
        if (route.config?.viewset?.view.basename === 'open') {
          route.config = { ...route.config, needsToken: true, needsTokenAt: () => true };
        }
      });
      made.get('/ask', async (request) => {
        const plan = made.viewset.operations.find(({ operationId }) => operationId === 'listOpen')!;
        answers.push(await made.viewset.admitsSender(request, plan));
      });
    },
  });
  await app.inject('/ask');
  await app.inject({ url: '/ask', headers: { 'x-user': 'ann' } });
  t.strictSame(answers, [false, true]);
});
