/** `app.jwt.viewset`, beside registrations of `@fastify/jwt` by the application. */
import fastifyJwt from '@fastify/jwt';
import type { MikroORM } from '@mikro-orm/core';
import { getCurrentUser, viewset } from '@viewset/core';
import fastify, { type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { auth, type JwtHelpers } from '../../src/index.ts';
import { MailBox, PASSWORD, SECRET } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const OWN_SECRET = 'the secret of the application, 32 bytes';
/** `request.user` belongs to the library, so the application chooses another name. */
const OWN = { secret: OWN_SECRET, decoratorName: 'claims' } as const;

/** What `app.jwt` may be: the functions of the application, and a namespace. */
interface Decorated extends JwtHelpers {
  readonly viewset: JwtHelpers;
  readonly other: JwtHelpers;
}
const jwtOf = (app: FastifyInstance): Decorated | undefined => app.jwt as unknown as Decorated | undefined;
const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

interface Registrations {
  readonly before?: (app: FastifyInstance) => unknown;
  readonly after?: (app: FastifyInstance) => unknown;
  readonly secret?: string;
  readonly prefix?: string;
}

forEachDatabase(t, { entities: [Account, Role] }, async (t, orm: MikroORM) => {
  const em = orm.em.fork();
  const ann = em.create(Account, { name: 'Ann', email: 'ann@example.com', password: PASSWORD, created_at: new Date() });
  await em.flush();
  const user_id = ann.id;

  async function addAuth(scope: FastifyInstance, secret = SECRET): Promise<void> {
    await scope.register(viewset, { orm });
    await scope.register(auth, { account: Account, secret, bcryptRounds: 4, mailer: new MailBox() });
    scope.get('/me', async (request) => ({
      id: getCurrentUser(request)?.id,
      decorators: Object.keys(Object.getPrototypeOf(request) as object).filter((name) => /jwt/i.test(name)),
    }));
  }
  async function start(t: Test, { before, after, secret }: Registrations = {}): Promise<FastifyInstance> {
    const app = fastify();
    t.teardown(() => app.close());
    await before?.(app);
    await addAuth(app, secret);
    await after?.(app);
    await app.ready();
    return app;
  }
  const me = (app: FastifyInstance, token: string, url = '/me') => app.inject({ url, headers: bearer(token) });

  t.test('without a registration by the application, the namespace stands alone', async (t) => {
    const app = await start(t);
    t.strictSame(Object.keys(jwtOf(app)!), ['viewset']);
    t.equal(jwtOf(app)!.viewset, app.auth.jwt);
    const token = jwtOf(app)!.viewset.sign({ user_id });
    const answer = await me(app, token);
    t.strictSame(answer.json(), { id: user_id, decorators: [] }, 'requests have no further functions');
    t.match(jwtOf(app)!.viewset.verify(token), { user_id });
    t.equal((await me(app, jwtOf(app)!.viewset.sign({ user_id }, { typ: 'download' }))).statusCode, 401);
    t.equal((await me(app, jwtOf(app)!.viewset.sign({ sub: String(user_id) }))).statusCode, 401);
  });

  t.test('a token that a route cannot verify is a 401, and a wrong option a 500', async (t) => {
    const app = await start(t, {
      after: (app) => {
        app.get('/download', { config: { public: true } }, async (request) =>
          app.auth.jwt.verify((request.query as { token: string }).token, { checkTyp: 'download' }),
        );
        app.get('/broken', { config: { public: true } }, async () =>
          app.auth.jwt.verify('x', { checkTyp: undefined } as never),
        );
      },
    });
    const token = app.auth.jwt.sign({ file: 7 }, { typ: 'download' });
    t.match((await app.inject({ url: '/download', query: { token } })).json(), { file: 7 });
    const refused = await app.inject({ url: '/download', query: { token: 'x' } });
    t.match(refused.json(), { code: 'unauthorized' });
    t.equal(refused.headers['www-authenticate'], 'Bearer error="invalid_token"');
    t.equal((await app.inject('/broken')).statusCode, 500);
  });

  t.test('the application registers @fastify/jwt before, after, and under a namespace', async (t) => {
    const own = (app: FastifyInstance): unknown => app.register(fastifyJwt, OWN);
    const named = (app: FastifyInstance): unknown => app.register(fastifyJwt, { ...OWN, namespace: 'other' });
    for (const [name, registrations, isNamed] of [
      ['before', { before: own }, false],
      ['after', { after: own }, false],
      ['before, under a namespace', { before: named }, true],
      ['after, under a namespace', { after: named }, true],
    ] as const) {
      const app = await start(t, registrations);
      const theirs = isNamed ? jwtOf(app)!.other : jwtOf(app)!;
      const ours = jwtOf(app)!.viewset;
      t.equal(ours, app.auth.jwt, name);
      const token = theirs.sign({ user_id });
      t.match(theirs.verify(token), { user_id });
      t.throws(() => ours.verify(token), { code: 'unauthorized' });
      t.throws(() => theirs.verify(ours.sign({ user_id })), { code: 'FAST_JWT_INVALID_SIGNATURE' });
      t.equal((await me(app, token)).statusCode, 401, 'their token is not ours');
      t.equal((await me(app, ours.sign({ user_id }))).statusCode, 200);
    }
  });

  t.test('their `request.jwtVerify` verifies their tokens alone', async (t) => {
    const app = await start(t, {
      after: async (app) => {
        await app.register(fastifyJwt, OWN);
        app.get('/theirs', { config: { public: true } }, async (request) => ({
          claims: await request.jwtVerify(),
          user: request.user,
        }));
      },
    });
    const theirs = jwtOf(app)!.sign({ sub: 'x' });
    t.match((await app.inject({ url: '/theirs', headers: bearer(theirs) })).json(), {
      claims: { sub: 'x' },
      user: null,
    });
    const ours = app.auth.jwt.sign({ user_id });
    t.equal((await app.inject({ url: '/theirs', headers: bearer(ours) })).statusCode, 401);
  });

  t.test('two scopes have separate tokens, and change nothing of their parent', async (t) => {
    const app = fastify();
    t.teardown(() => app.close());
    await app.register(fastifyJwt, { secret: OWN_SECRET });
    const scopes: FastifyInstance[] = [];
    for (const prefix of ['/one', '/two']) {
      await app.register(
        async (scope) => {
          scopes.push(scope);
          await scope.register(viewset, { orm, user: 'own' });
          await scope.register(auth, { account: Account, secret: `${SECRET} ${prefix}`, mailer: new MailBox() });
          scope.get('/me', async (request) => ({ id: request.user?.id }));
        },
        { prefix },
      );
    }
    await app.ready();
    const [one, two] = scopes as [FastifyInstance, FastifyInstance];
    t.notOk('viewset' in app.jwt, 'nothing of a scope in its parent');
    t.not(jwtOf(one)!.viewset, jwtOf(two)!.viewset);
    t.match(app.jwt.verify(jwtOf(one)!.sign({ sub: 'x' })), { sub: 'x' }, "the parent's functions are inherited");
    const token = jwtOf(one)!.viewset.sign({ user_id });
    t.equal((await me(app, token, '/one/me')).statusCode, 200);
    t.equal((await me(app, token, '/two/me')).statusCode, 401);
    t.throws(() => jwtOf(two)!.viewset.verify(token), { code: 'unauthorized' });
  });

  t.test('a namespace that a scope registers stays in the scope', async (t) => {
    const app = await start(t, {
      after: (app) =>
        app.register(
          async (scope) => {
            await scope.register(fastifyJwt, { ...OWN, namespace: 'other' });
            scope.get('/jwt', { config: { public: true } }, async () => Object.keys(jwtOf(scope)!));
          },
          { prefix: '/inner' },
        ),
    });
    t.strictSame(Object.keys(jwtOf(app)!), ['viewset']);
    t.strictSame((await app.inject('/inner/jwt')).json(), ['other']);
  });

  t.test('an `app.jwt` of another plugin stays as it is', async (t) => {
    for (const decorator of [Object.freeze({ make: () => 'x' }), () => 'x']) {
      for (const when of ['before', 'after'] as const) {
        const app = await start(t, { [when]: (app: FastifyInstance) => app.decorate('jwt', decorator as never) });
        t.equal(app.jwt, decorator);
        t.notOk('viewset' in decorator);
        t.match(app.auth.jwt.verify(app.auth.jwt.sign({ user_id })), { user_id });
      }
    }
  });

  t.test('a namespace of the same name fails the start', async (t) => {
    const taken = (app: FastifyInstance): unknown => app.register(fastifyJwt, { ...OWN, namespace: 'viewset' });
    for (const registrations of [{ before: taken }, { after: taken }]) {
      await t.rejects(start(t, registrations), {
        code: 'improperly_configured',
        message: /@fastify\/jwt already has the namespace "viewset"/,
      });
    }
  });
});
