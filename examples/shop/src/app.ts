import helmet from '@fastify/helmet';
import {
  type AccountUser,
  auth,
  type AuthOptions,
  keepAdministrator,
  LogEmailSender,
  SmtpEmailSender,
} from '@viewset/auth';
import { printRoutes } from '@viewset/cli';
import {
  addVary,
  HealthRegistry,
  IPRateLimit,
  NotFound,
  serverOptions,
  UserRateLimit,
  viewset,
  writeShape,
} from '@viewset/core';
import { explorer, prefersHtml } from '@viewset/explorer';
import { openapi, type OpenapiOptions } from '@viewset/openapi';
import { logOptions, logRequests } from '@viewset/terminal';
import { fastify, type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { openDatabase } from './database.ts';
import { Account } from './entities/account.ts';
import { ApiKey } from './entities/api-key.ts';
import { Identity } from './entities/identity.ts';
import { Passkey } from './entities/passkey.ts';
import { Session } from './entities/session.ts';
import { TwoFactor } from './entities/two-factor.ts';
import { addHealthChecks } from './health-checks.ts';
import { shopRouter } from './router.ts';
import { seed } from './seed.ts';
import type { Settings } from './settings.ts';
import { CLOSE_TIMEOUT_MS } from './shutdown.ts';
import { openStore } from './store.ts';

declare module '@viewset/core' {
  interface ViewsetTypes {
    user: AccountUser;
  }
}

/** The description of the API for its document. */
const API: OpenapiOptions = {
  info: {
    title: 'Shop',
    version: '1.0.0',
    description: 'The example of Viewset: products, and accounts with roles.',
    contact: { name: 'Viewset' },
    license: { name: 'MIT', identifier: 'MIT' },
  },
  tags: {
    auth: 'Registration, login, sessions and verification codes.',
    health: 'The state of the process, for load balancers and monitors.',
  },
};

/**
 * The shop, ready to listen. Closing it closes its database, its store and its mail sender. Its checks are registered in `health`, which
 * the shutdown uses to notify the load balancer. Text for people on a terminal is passed to `write` in addition to the log. A `log`
 * receives the lines of the log as JSON, instead of standard output.
 */
export async function buildApp(
  settings: Settings,
  health = new HealthRegistry(),
  write: (text: string) => unknown = (text) => process.stdout.write(text),
  log?: { write(line: string): void },
): Promise<FastifyInstance> {
  const logging: FastifyServerOptions = log === undefined ? logOptions(settings.terminal) : { logger: { stream: log } };
  const app = fastify(serverOptions({ ...logging, trustProxy: settings.trustProxy }));
  if (settings.terminal) {
    logRequests(app);
    printRoutes(app, write);
  }
  if (settings.secretKeyIsRandom) app.log.warn('SECRET_KEY is not set: tokens and codes end with this process');

  // No response of the shop is a page: a browser that displays one anyway runs, loads and frames nothing.
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    referrerPolicy: { policy: 'no-referrer' },
  });

  const database = await openDatabase(settings, app.log);
  app.addHook('onClose', () => database.orm.close());
  await seed(database, settings, app.log, { schema: settings.production ? 'require' : 'migrate' });
  const { store, redis } = openStore(app, settings.redisUrl);

  addHealthChecks(health, database, redis);

  await app.register(openapi, API);

  await app.register(viewset, {
    orm: database.orm,
    store,
    throttles: throttles(settings),
    health,
    closeTimeoutMs: CLOSE_TIMEOUT_MS,
  });
  if (settings.explorer) {
    await app.register(explorer, { title: 'Shop' });
    addHome(app);
  }
  await app.register(auth, {
    account: Account,
    urlPrefix: '/api/auth',
    apiKeys: { entity: ApiKey, prefix: 'shop' },
    twoFactor: { entity: TwoFactor, issuer: 'Shop' },
    passkeys: { entity: Passkey, rpName: 'Shop' },
    ...optionalLogins(settings),
    secret: settings.jwtSecret,
    expirationDelta: settings.jwtAccessTokenExpiresSeconds,
    userCacheSeconds: settings.userCacheSeconds,
    nonAuthEndpoints: settings.nonAuthEndpoints,
    codeSecret: settings.codeSecret,
    bcryptRounds: settings.bcryptRounds,
    passwords: {},
    me: { write: writeShape(Account, ['name']), delete: keepAdministrator(Account) },
    store,
    mailer: mailer(settings, app),
  });

  // Responses about accounts and errors are not cached.
  app.addHook('onSend', async ({ routeOptions }, reply) => {
    if (routeOptions.url?.startsWith('/api/accounts') === true) reply.header('cache-control', 'no-store');
  });

  await app.register(shopRouter().plugin);
  return app;
}

/** Leads a browser that is at the address of the shop itself to its explorer. */
function addHome(app: FastifyInstance): void {
  app.get('/', { schema: { hide: true }, config: { public: true } }, (request, reply) => {
    addVary(reply, 'Accept');
    if (!prefersHtml(request)) throw new NotFound(`No route ${request.method} /`);
    return reply.redirect('/api');
  });
}

/** Sessions, and logins by other services, if the settings have them. */
function optionalLogins(settings: Settings): Pick<AuthOptions, 'sessions' | 'oauth'> {
  const sessions: Pick<AuthOptions, 'sessions'> = settings.sessions ? { sessions: Session } : {};
  if (Object.keys(settings.oauth).length === 0) return sessions;
  return { ...sessions, oauth: { identity: Identity, providers: settings.oauth } };
}

function throttles({ throttleIp, throttleUser }: Settings): (IPRateLimit | UserRateLimit)[] {
  return [
    ...(throttleIp === undefined ? [] : [new IPRateLimit(throttleIp.count, throttleIp.seconds)]),
    ...(throttleUser === undefined ? [] : [new UserRateLimit(throttleUser.count, throttleUser.seconds)]),
  ];
}

function mailer({ smtpUrl, mailFrom }: Settings, app: FastifyInstance): SmtpEmailSender | LogEmailSender {
  return smtpUrl === undefined ? new LogEmailSender(app.log) : new SmtpEmailSender({ url: smtpUrl, from: mailFrom });
}
