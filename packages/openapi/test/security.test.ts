/** Says who has to send a token: the authentication, the permissions of a view, or nobody. */
import { auth, LogEmailSender } from '@viewset/auth';
import {
  action,
  AllowAny,
  type AuthenticatedRequest,
  IsAuthenticated,
  HasRole,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  ModelViewSet,
  Permission,
  type PermissionClass,
  readShape,
  Router,
  writeShape,
} from '@viewset/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { Account, Role } from '../../auth/test/support/entities.ts';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, type Document, documentOf, Publisher, startApp } from './support/app.ts';

const TOKEN = [{ bearerAuth: [] }];
const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title', 'price']);

const viewOf = (permissionClasses: readonly PermissionClass[], allowAnonymous = false) =>
  class extends ModelViewSet(Book, {
    read,
    write,
    permissionClasses,
    ...(allowAnonymous ? { allowAnonymous } : {}),
  }) {};

class IsOpeningTime extends Permission {
  override hasPermission(): boolean {
    return true;
  }
}

/** Lets everybody in, though its class is one that does not. */
class IsAuthenticatedByDay extends IsAuthenticated {
  override hasPermission(request: FastifyRequest): request is AuthenticatedRequest {
    return request.method !== '';
  }
}

class PublisherViewSet extends ModelViewSet(Publisher, { read: readShape(Publisher, ['id', 'name']) }) {
  audit = action({ permissionClasses: [IsRoleAdminUser], response: Type.Object({ sound: Type.Boolean() }) }, () => ({
    sound: true,
  }));
}

async function register(app: FastifyInstance): Promise<void> {
  const router = new Router({ prefix: 'api' })
    .register('publishers', PublisherViewSet)
    .register('open', viewOf([], true))
    .register('private', viewOf([IsAuthenticated]))
    .register('written', viewOf([IsSafeMethodOnly.or(IsAuthenticated)]))
    .register('managed', viewOf([IsOpeningTime, IsSafeMethodOnly.or(HasRole('owner').and(IsOpeningTime))]))
    .register('timed', viewOf([IsOpeningTime]))
    .register('either', viewOf([IsOpeningTime.or(IsAuthenticated)]))
    .register('strangers', viewOf([IsAuthenticated.not()]))
    .register('daily', viewOf([IsAuthenticatedByDay]))
    .register('any', viewOf([AllowAny]));
  await app.register(router.plugin);
}

function secured({ paths }: Document): string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { security }]) => (security?.length > 0 ? [`${method} ${path}`] : [])),
  );
}

forEachDatabase(t, { entities: [Book, Publisher, Role, Account], only: ['sqlite'] }, async (t, orm) => {
  await t.test('without authentication, the permissions decide which operations need a token', async (t) => {
    const document = await documentOf(await startApp(t, orm, register));
    const { paths, components } = document;
    t.strictSame(secured(document).toSorted(), [
      'delete /api/managed/{pk}',
      'delete /api/private/{pk}',
      'delete /api/written/{pk}',
      'get /api/private',
      'get /api/private/{pk}',
      'get /api/publishers/audit',
      'patch /api/managed/{pk}',
      'patch /api/private/{pk}',
      'patch /api/written/{pk}',
      'post /api/managed',
      'post /api/private',
      'post /api/written',
      'put /api/managed/{pk}',
      'put /api/private/{pk}',
      'put /api/written/{pk}',
    ]);
    t.strictSame(paths['/api/private']!['get']!.security, TOKEN);
    t.match(components['securitySchemes'], { bearerAuth: { type: 'http' } });
    t.match(paths['/api/publishers']!['get']!.description, /Needs no token/);
    t.notOk('401' in paths['/api/publishers']!['get']!.responses, 'nobody is asked who they are');
    t.ok(
      '401' in paths['/api/timed']!['get']!.responses,
      'a permission of its own may refuse whoever is not logged in',
    );
  });

  await t.test('without operations that need a token, there is no security scheme', async (t) => {
    const app = await startApp(t, orm, (app) =>
      app.register(new Router({ prefix: 'api' }).register('books', viewOf([])).plugin),
    );
    const document = await documentOf(app);
    t.strictSame(secured(document), []);
    t.notOk('securitySchemes' in document.components);
  });

  await t.test('with authentication, its rule for each route decides', async (t) => {
    const app = await startApp(t, orm, async (app) => {
      await app.register(auth, {
        account: Account,
        urlPrefix: '/api/auth',
        secret: 'a secret of at least thirty-two bytes',
        bcryptRounds: 4,
        nonAuthEndpoints: ['/api/auth/login', '/api/private*', '/api/publishers*'],
        mailer: new LogEmailSender(app.log),
      });
      await register(app);
    });
    const { paths } = await documentOf(app);
    const securityOf = (path: string): readonly object[] => paths[path]!['get']!.security;
    t.strictSame(securityOf('/api/timed'), TOKEN);
    t.strictSame(securityOf('/api/private'), TOKEN, 'its permission refuses others, though the path is open');
    t.strictSame(securityOf('/api/publishers'), []);
    t.strictSame(securityOf('/api/publishers/audit'), TOKEN);
    t.strictSame(securityOf('/api/open'), []);
    t.strictSame(securityOf('/api/any'), []);
  });

  await t.test('authentication of the application decides by the configuration of its routes', async (t) => {
    const app = await startApp(t, orm, async (app) => {
      app.addHook('onRoute', (route) => {
        route.config = { ...route.config, needsToken: route.url.startsWith('/api/timed') };
      });
      await register(app);
    });
    const { paths } = await documentOf(app);
    t.strictSame(paths['/api/timed']!['get']!.security, TOKEN);
    t.ok('401' in paths['/api/timed']!['get']!.responses);
    t.strictSame(paths['/api/publishers']!['get']!.security, []);
    t.strictSame(paths['/api/private']!['get']!.security, TOKEN);
  });
});
