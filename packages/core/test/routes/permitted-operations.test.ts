/** OPTIONS tells what the person who asks may do: by permissions of the application's own, by scopes and by records. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import fastify, { type FastifyRequest, type InjectOptions } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  AllowAny,
  Forbidden,
  IPRateLimit,
  IsSafeMethodOnly,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  serverOptions,
  UserRateLimit,
  viewset,
  ViewSet,
  writeShape,
} from '../../src/index.ts';
import { recordQueries } from '../query/record-queries.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Project = defineEntity({
  name: 'Project',
  properties: { id: p.integer().primary(), name: p.string(), owner: p.string(), is_public: p.boolean() },
});
const Ticket = defineEntity({
  name: 'Ticket',
  properties: { id: p.integer().primary(), title: p.string(), author: p.string(), project: () => p.manyToOne(Project) },
});
const entities = [Project, Ticket];

const nameOf = ({ user }: FastifyRequest): string => (user as { role?: { name: string } } | null)?.role?.name ?? '';

/** Asks another service, so to say, and has words of its own for some. */
class IsStaff extends Permission {
  override async hasPermission(request: FastifyRequest): Promise<boolean> {
    await new Promise((resolve) => setImmediate(resolve));
    if (nameOf(request) === 'banned') throw new Forbidden('You are banned');
    if (nameOf(request) === 'barred') throw Object.assign(new Error('You are barred'), { statusCode: 403 });
    if (nameOf(request) === 'broken') throw new TypeError('a bug');
    return ['ann', 'bob'].includes(nameOf(request));
  }
}

class IsPublic extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Project>>(view, { is_public: true });
  }
}

class IsProjectOwner extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Project>>(view, { owner: nameOf(request) });
  }
}

/** Looks at the record. */
class IsAuthor extends Permission {
  override async hasObjectPermission(request: FastifyRequest, view: PermissionView, ticket: object): Promise<boolean> {
    const { author } = ticket as InferEntity<typeof Ticket>;
    return ['retrieve', 'list'].includes(view.getAction(request)) || author === nameOf(request);
  }
}

class NeedsAnn extends Permission {
  override hasPermission(request: FastifyRequest): boolean {
    return nameOf(request) === 'ann';
  }
}

class ProjectViewSet extends ModelViewSet(Project, {
  read: readShape(Project, ['id', 'name']),
  write: writeShape(Project, ['name', 'owner', 'is_public']),
  bulk: 10,
  queryMethod: true,
  permissionClasses: [IsSafeMethodOnly.and(IsPublic).or(IsStaff.and(IsProjectOwner))],
}) {
  archive = action({ detail: true, methods: ['post', 'delete'], permissionClasses: [NeedsAnn] }, () => ({}));
  peek = action({ detail: true, permissionClasses: [AllowAny] }, () => ({}));
  report = action({ urlPath: 'reports/daily', permissionClasses: [NeedsAnn] }, () => ({}));
}
/** Looks at what is to be stored. */
class LeavesIdsAlone extends Permission {
  override hasObjectPermission(request: FastifyRequest, view: PermissionView): boolean {
    const { body } = request;
    if (view.getAction(request) === 'retrieve') return body === undefined;
    return Array.isArray(body) ? !body.includes('id') : !Object.hasOwn(body as object, 'id');
  }
}

class TicketViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id', 'title']),
  write: writeShape(Ticket, ['title', 'author']),
  permissionClasses: [IsAuthor],
}) {}
class PingViewSet extends ViewSet {
  override permissionClasses = [IsStaff.or(IsSafeMethodOnly)];
  override list() {
    return { pong: true };
  }
  override update() {
    return {};
  }
}

const router = () =>
  new Router({ prefix: 'api' })
    .register('projects', ProjectViewSet)
    .register('projects/:project/tickets', TicketViewSet)
    .register('ping', PingViewSet);

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await testApp(t, orm, [router()]);
  const em = orm.em.fork();
  const make = async (id: number, owner: string, is_public: boolean): Promise<void> => {
    const project = em.create(Project, { id, name: `Project ${id}`, owner, is_public });
    em.create(Ticket, { id: id * 10, title: 'One', author: 'ann', project });
    em.create(Ticket, { id: id * 10 + 1, title: 'Two', author: 'bob', project });
    await em.flush();
  };
  await make(1, 'ann', true);
  await make(2, 'ann', false);
  await make(3, 'bob', false);
  const ask = async (url: string, user?: string, more: InjectOptions = {}) => {
    const headers = { ...(user === undefined ? {} : { 'x-user': user }), ...more.headers };
    const answer = await app.inject({ method: 'OPTIONS', url, ...more, headers });
    const { date: _date, ...answered } = answer.headers;
    return { status: answer.statusCode, body: answer.body, headers: answered };
  };
  const permitted = async (url: string, user?: string) => {
    const { status, headers } = await ask(url, user);
    t.equal(status, 204, url);
    const listed = (name: string) => String(headers[name]).split(', ').filter(Boolean);
    return { methods: listed('permitted-methods').join(' '), operations: listed('permitted-operations') };
  };

  await t.test('Allow lists the methods of the resource, for every user', async (t) => {
    for (const user of [undefined, 'ann', 'banned']) {
      const { headers, body } = await ask('/api/projects', user);
      t.equal(headers.allow, 'GET, HEAD, QUERY, POST, PATCH, DELETE, OPTIONS');
      t.equal(headers['accept-query'], 'application/json');
      t.equal(body, '');
      t.equal((await ask('/api/projects/1/archive', user)).headers.allow, 'POST, DELETE, OPTIONS');
    }
    t.equal((await ask('/api/nothing')).status, 404);
  });

  await t.test('a collection goes by the permissions of the view, its actions by theirs', async (t) => {
    t.strictSame(await permitted('/api/projects', 'ann'), {
      methods: 'GET HEAD QUERY POST PATCH DELETE OPTIONS',
      operations: [
        'listProjects',
        'queryProjects',
        'createProject',
        'updateProjects',
        'destroyProjects',
        'reportProjects',
      ],
    });
    for (const user of ['banned', 'barred']) {
      t.strictSame(await permitted('/api/projects', user), { methods: 'OPTIONS', operations: [] }, 'by an error');
    }
    for (const user of [undefined, 'cleo']) {
      t.strictSame(await permitted('/api/projects', user), {
        methods: 'GET HEAD QUERY OPTIONS',
        operations: ['listProjects', 'queryProjects'],
      });
    }
    t.strictSame(await permitted('/api/projects/reports/daily', 'ann'), {
      methods: 'GET HEAD OPTIONS',
      operations: ['reportProjects'],
    });
    t.strictSame(await permitted('/api/projects/reports/daily'), { methods: 'OPTIONS', operations: [] });
  });

  await t.test('a record uses scopes and object permissions, and lists the operations below it', async (t) => {
    t.strictSame(await permitted('/api/projects/1', 'ann'), {
      methods: 'GET HEAD PUT PATCH DELETE OPTIONS',
      operations: [
        'retrieveProject',
        'replaceProject',
        'updateProject',
        'destroyProject',
        'archiveProject',
        'archiveProjectDelete',
        'peekProject',
        'listProjectTickets',
        'createProjectTicket',
      ],
    });
    t.strictSame(await permitted('/api/projects/1', 'bob'), {
      methods: 'GET HEAD OPTIONS',
      operations: ['retrieveProject', 'peekProject', 'listProjectTickets', 'createProjectTicket'],
    });
    t.strictSame((await permitted('/api/projects/1/archive', 'ann')).methods, 'POST DELETE OPTIONS');
    t.strictSame((await permitted('/api/projects/1/archive', 'bob')).methods, 'OPTIONS');
    t.strictSame((await permitted('/api/projects/1/tickets/10', 'ann')).methods, 'GET HEAD PUT PATCH DELETE OPTIONS');
    t.strictSame((await permitted('/api/projects/1/tickets/11', 'ann')).methods, 'GET HEAD OPTIONS');
    t.strictSame((await permitted('/api/projects/1/tickets/11', 'bob')).methods, 'GET HEAD PUT PATCH DELETE OPTIONS');
    t.strictSame((await permitted('/api/projects/1/tickets')).methods, 'GET HEAD POST OPTIONS');
  });

  await t.test('the listed operations are those whose requests succeed', async (t) => {
    const places = ['/api/projects/2', '/api/projects/3', '/api/projects/3/tickets', '/api/projects/1/tickets/11'];
    const requests = [
      { method: 'GET' },
      { method: 'POST', payload: { title: 'x', author: 'x' } },
      { method: 'PATCH', payload: {} },
    ] as const;
    const asked = places.flatMap((url) =>
      ['ann', 'bob', 'cleo'].flatMap((user) => requests.map((request) => ({ url, user, request }))),
    );
    for (const { url, user, request } of asked) {
      const { methods } = await permitted(url, user);
      const { statusCode } = await app.inject({ ...request, url, headers: { 'x-user': user } });
      const isPermitted = ![401, 403, 404, 405].includes(statusCode);
      t.equal(methods.split(' ').includes(request.method), isPermitted, `${user}: ${request.method} ${url}`);
    }
  });

  await t.test('a hidden record and the paths below it give the same response as a missing record', async (t) => {
    for (const rest of ['', '/tickets', '/tickets/20', '/archive']) {
      const [hidden, absent, malformed] = await Promise.all(
        ['2', '999', 'x'].map(async (id) => ask(`/api/projects/${id}${rest}`, 'bob')),
      );
      t.strictSame(hidden, absent, rest);
      t.strictSame(hidden, malformed, rest);
      t.match(hidden!.headers, { 'permitted-methods': 'OPTIONS', 'permitted-operations': '' }, rest);
    }
  });

  await t.test('the root lists the collections that the user can list', async (t) => {
    t.strictSame((await permitted('/api')).operations, ['listApiRoot', 'listProjects', 'listPing']);
  });

  await t.test('a view without an entity, a trailing slash, a query string, a body', async (t) => {
    t.strictSame(await permitted('/api/ping/7', 'ann'), {
      methods: 'PUT PATCH OPTIONS',
      operations: ['replacePing', 'updatePing'],
    });
    t.strictSame((await permitted('/api/ping/7')).methods, 'OPTIONS');
    t.strictSame((await permitted('/api/projects/1/?x=1', 'bob')).methods, 'GET HEAD OPTIONS');
    const odd = { payload: '{', headers: { 'content-type': 'application/json' } };
    t.match(await ask('/api/projects/1', 'bob', odd), { status: 204 });
  });

  await t.test('a bug of a permission is an error of the server', async (t) => {
    t.equal((await ask('/api/projects', 'broken')).status, 500);
  });

  await t.test('a preflight request lists no operations and runs no queries', async (t) => {
    const queries = recordQueries(orm);
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'DELETE' };
    const preflight = await ask('/api/projects/1', undefined, { headers });
    queries.stop();
    t.match(preflight, { status: 204, headers: { allow: 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS' } });
    t.notOk('permitted-methods' in preflight.headers);
    t.strictSame(queries.texts, []);
  });

  await t.test('operations with one scope share one look-up of the record', async (t) => {
    const looked = async (url: string, user: string) => {
      const queries = recordQueries(orm);
      await ask(url, user);
      queries.stop();
      return queries.texts;
    };
    const own = await looked('/api/projects/1', 'cleo');
    t.equal(own.length, 1, own.join('\n'));
    const ticket = await looked('/api/projects/1/tickets/10', 'ann');
    t.equal(ticket.length, 2, 'one of its parent, and one of itself that all of its operations look at');
  });

  await t.test('every parent is looked up once', async (t) => {
    const queries = recordQueries(orm);
    await ask('/api/projects/1/tickets', 'ann');
    queries.stop();
    t.equal(queries.texts.length, 1, queries.texts.join('\n'));
  });
});

forEachDatabase(t, { entities }, async (t, orm) => {
  await t.test(
    'OPTIONS counts as one request for the throttles of the application, and none for those of the view',
    async (t) => {
      const options = { throttles: [new IPRateLimit(3, 60), new UserRateLimit(3, 60)] };
      const app = await testApp(t, orm, [router()], { options });
      const headers = { 'x-user': 'ann' };
      for (const remaining of ['2', '1', '0']) {
        const answer = await app.inject({ method: 'OPTIONS', url: '/api/projects/1', headers });
        t.match(answer, { statusCode: 204, headers: { 'ratelimit-remaining': remaining } });
      }
      t.equal((await app.inject({ method: 'OPTIONS', url: '/api/projects/1', headers })).statusCode, 429);
    },
  );

  await t.test('OPTIONS of a collection does not call throttleRate of the view', async (t) => {
    let calls = 0;
    class CountingViewSet extends ModelViewSet(Project, { read: readShape(Project, ['id']) }) {
      override throttleRate() {
        calls += 1;
        return true;
      }
    }
    const app = await testApp(t, orm, [new Router().register('projects', CountingViewSet)]);
    await app.inject({ method: 'OPTIONS', url: '/projects' });
    t.equal(calls, 0);
    await app.inject('/projects');
    t.equal(calls, 1);
    await app.inject({ method: 'OPTIONS', url: '/projects/1' });
    t.equal(calls, 2, 'but where there is a key to guess');
  });

  await t.test('keys are not guessed past the throttles of a view or an action', async (t) => {
    const options = { read: readShape(Project, ['id', 'name']) };
    await orm.em.fork().insert(Project, { id: 1, name: 'Coupon', owner: 'ann', is_public: true });
    t.teardown(() => orm.em.fork().nativeDelete(Project, { id: 1 }));
    class CouponViewSet extends ModelViewSet(Project, options) {
      override throttles = [new IPRateLimit(3, 60), new UserRateLimit(9, 60)];
      redeem = action({ detail: true, methods: ['post'], throttles: [new IPRateLimit(2, 60)] }, () => ({}));
    }
    class RedeemedViewSet extends ModelViewSet(Project, {
      ...options,
      operations: ['destroy'],
      permissionClasses: [IsSafeMethodOnly],
    }) {
      redeem = action(
        {
          detail: true,
          methods: ['post'],
          permissionClasses: [AllowAny],
          throttles: [new IPRateLimit(2, 60)],
        },
        () => ({}),
      );
      open = action({ detail: true }, () => ({}));
    }
    class HookedViewSet extends ModelViewSet(Project, options) {
      override throttleRate() {
        return false;
      }
    }
    const router = new Router()
      .register('coupons', CouponViewSet)
      .register('redeemed', RedeemedViewSet)
      .register('hooked', HookedViewSet);
    const app = await testApp(t, orm, [router]);
    const ask = (url: string, headers = {}) => app.inject({ method: 'OPTIONS', url, headers });
    const first = await ask('/coupons/1');
    t.match(first.headers, { 'ratelimit-limit': '3', 'ratelimit-remaining': '2' });
    t.match(first.headers['permitted-operations'], /retrieveCoupon, redeemCoupon/, 'the record is shown anyway');
    t.equal((await ask('/coupons/97')).statusCode, 204);
    t.equal((await app.inject('/coupons/98')).statusCode, 404, 'counted with the requests themselves');
    const refused = await ask('/coupons/1');
    t.equal(refused.statusCode, 429);
    t.equal(refused.headers['retry-after'], refused.headers['ratelimit-reset']);
    t.equal(refused.headers['permitted-operations'], undefined);
    t.equal((await ask('/coupons')).statusCode, 204, 'a collection has no key');
    const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
    t.equal((await ask('/coupons/99', preflight)).statusCode, 204);
    const below = await ask('/redeemed/1');
    t.equal(below.headers['permitted-operations'], 'openRedeemed', 'what no counted operation shows is not told of');
    for (const status of [204, 204, 429]) t.equal((await ask('/redeemed/1/redeem')).statusCode, status);
    t.equal((await ask('/hooked/1')).statusCode, 429);
  });

  await t.test('a permission may look into the body, which is empty', async (t) => {
    class BodyViewSet extends ModelViewSet(Project, {
      read: readShape(Project, ['id']),
      write: writeShape(Project, ['name']),
      operations: ['retrieve', 'update', 'destroy'],
      permissionClasses: [LeavesIdsAlone],
    }) {
      rename = action({ detail: true, methods: ['post'], body: Type.Array(Type.String()) }, () => ({}));
      touch = action({ detail: true, methods: ['post'] }, () => ({}));
    }
    const app = await testApp(t, orm, [new Router().register('projects', BodyViewSet)]);
    const em = orm.em.fork();
    em.create(Project, { id: 7, name: 'Seven', owner: 'ann', is_public: true });
    await em.flush();
    const { statusCode, headers } = await app.inject({ method: 'OPTIONS', url: '/projects/7' });
    t.equal(statusCode, 204);
    t.equal(headers['permitted-methods'], 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS');
    t.match(headers['permitted-operations'], /renameProject, touchProject$/);
  });

  await t.test(
    'a permission that needs more of the body or the query string leaves its operations unsaid',
    async (t) => {
      class Deep extends Permission {
        override hasPermission(request: FastifyRequest, view: PermissionView): boolean {
          const { kind } = request.query as { kind?: { name: string } };
          return view.getAction(request) !== 'touch' || kind!.name === 'a';
        }
        override async hasObjectPermission(request: FastifyRequest, view: PermissionView): Promise<boolean> {
          if (['retrieve', 'touch'].includes(view.getAction(request))) return true;
          const { owner } = request.body as { owner: { name: string } };
          return owner.name === nameOf(request);
        }
      }
      class Broken extends Permission {
        override hasObjectPermission(): boolean {
          throw new TypeError('a fault of the program');
        }
      }
      const options = {
        read: readShape(Project, ['id']),
        write: writeShape(Project, ['name']),
        operations: ['retrieve', 'update'],
      } as const;
      class DeepViewSet extends ModelViewSet(Project, { ...options, permissionClasses: [Deep] }) {
        touch = action({ detail: true, methods: ['post'] }, () => ({}));
      }
      class BrokenViewSet extends ModelViewSet(Project, { ...options, permissionClasses: [Broken] }) {}
      const routers = new Router().register('deep', DeepViewSet).register('broken', BrokenViewSet);
      const app = await testApp(t, orm, [routers]);
      const { statusCode, headers } = await app.inject({ method: 'OPTIONS', url: '/deep/7' });
      t.equal(statusCode, 204);
      t.equal(headers['permitted-methods'], 'GET, HEAD, OPTIONS');
      t.equal(headers['permitted-operations'], 'retrieveDeep');
      t.equal((await app.inject({ method: 'OPTIONS', url: '/broken/7' })).statusCode, 500);
    },
  );

  await t.test('an application may define an OPTIONS route', async (t) => {
    const before: NonNullable<Parameters<typeof testApp>[3]>['before'] = (app) =>
      void app.options('/api/projects', async (_request, reply) => reply.code(200).send('own'));
    const app = await testApp(t, orm, [router()], { before });
    t.equal((await app.inject({ method: 'OPTIONS', url: '/api/projects' })).body, 'own');
    t.equal((await app.inject({ method: 'OPTIONS', url: '/api/projects/1' })).statusCode, 204);
  });

  await t.test('with other names of the parameters and any server options', async (t) => {
    class LatestViewSet extends ModelViewSet(Project, { read: readShape(Project, ['id']) }) {
      latest = action({}, () => ({}));
      peek = action({ detail: true }, () => ({}));
    }
    for (const options of [{}, serverOptions()]) {
      const app = fastify(options);
      t.teardown(() => app.close());
      await app.register(viewset, { orm });
      app.options('/projects/:id', async () => 'own');
      app.options('/projects/:key/peek', async () => 'own');
      app.options('/*', async () => 'any other');
      await app.register(new Router().register('projects', LatestViewSet).plugin);
      t.throws(() => app.options('/projects/:other', async () => 'late'));
      await app.ready();
      const answer = async (url: string) => (await app.inject({ method: 'OPTIONS', url })).body;
      t.equal(await answer('/projects/7'), 'own');
      t.equal(await answer('/projects/7/peek'), 'own');
      t.equal(await answer('/projects'), '', 'a path of its own');
      t.equal(await answer('/projects/latest'), '');
      t.equal(await answer('/elsewhere'), 'any other');
    }
  });

  await t.test(
    'an OPTIONS route defined after the router fails at start, and the error names the solution',
    async (t) => {
      for (const [url, options] of [
        ['/api/projects', {}],
        ['/api/projects/', {}],
        ['/api/projects', serverOptions()],
        ['/api/projects/', serverOptions()],
        ['/api/projects/:id', {}],
        ['/api/projects/:id', serverOptions()],
      ] as const) {
        const app = fastify(options);
        t.teardown(() => app.close());
        await app.register(viewset, { orm });
        app.options('/other', async () => 'own');
        await app.register(router().plugin);
        app.options('/another', async () => 'own');
        app.route({ method: 'OPTIONS', url: '/api/ping', constraints: { host: 'x' }, handler: async () => 'own' });
        t.throws(() => app.options(url, async () => 'own'), {
          name: 'ImproperlyConfigured',
          message: `OPTIONS ${url} already has a route; a router adds one to each of its paths without one, so register yours before the router`,
        });
        t.throws(() => app.options('/other', async () => 'again'), { code: 'FST_ERR_DUPLICATED_ROUTE' });
        await app.ready();
      }
    },
  );

  await t.test('the error of two routers with one path names both', async (t) => {
    class ReadViewSet extends ModelViewSet(Project, { read: readShape(Project, ['id']), operations: ['list'] }) {}
    class WriteViewSet extends ModelViewSet(Project, {
      read: readShape(Project, ['id']),
      write: writeShape(Project, ['name', 'owner', 'is_public']),
      operations: ['create'],
    }) {}
    const writes = new Router().register('projects', WriteViewSet, { basename: 'writes' });
    const app = await testApp(t, orm, [new Router().register('projects', ReadViewSet), writes]);
    const { headers } = await app.inject({ method: 'OPTIONS', url: '/projects' });
    t.equal(headers['permitted-methods'], 'GET, HEAD, POST, OPTIONS');
  });
});
