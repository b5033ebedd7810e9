import { randomBytes } from 'node:crypto';
import { authSettings, type OAuthProvider } from '@viewset/auth';
import { isatty } from 'node:tty';
import { Environment } from './environment.ts';

/** So many requests in so many seconds. */
export interface Rate {
  readonly count: number;
  readonly seconds: number;
}

/** The settings of the shop, read once at the start. */
export interface Settings {
  readonly production: boolean;
  readonly host: string;
  readonly port: number;
  readonly trustProxy: boolean | string[];
  /** How long the shop continues after SIGTERM while `/health/ready` already returns 503: time for a load balancer to notice. */
  readonly shutdownDelaySeconds: number;
  readonly databaseUrl: string | undefined;
  /** Connections to PostgreSQL or MongoDB that this process may hold. */
  readonly databasePoolSize: number;
  /** PostgreSQL and MongoDB cancel a statement that takes longer. */
  readonly databaseStatementTimeoutSeconds: number;
  readonly redisUrl: string | undefined;
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  readonly secretKey: string;
  /** True when SECRET_KEY was not given: tokens and codes then end with the process. */
  readonly secretKeyIsRandom: boolean;
  /** What signs and verifies tokens: the first of a list signs, so that a secret can be replaced without a pause. */
  readonly jwtSecret: string | readonly string[];
  /** What keys verification codes, refresh tokens, device cookies and second factors; a list as `jwtSecret`. */
  readonly codeSecret: string | readonly string[];
  readonly jwtAccessTokenExpiresSeconds: number;
  /** How long a process reuses the user of a token; 0: not at all. */
  readonly userCacheSeconds: number;
  readonly nonAuthEndpoints: readonly string[];
  readonly throttleIp: Rate | undefined;
  readonly throttleUser: Rate | undefined;
  readonly adminEmail: string;
  /** Undefined in production unless ADMIN_PASSWORD is given: no administrator is seeded then. */
  readonly adminPassword: string | undefined;
  readonly bcryptRounds: number;
  /** True if a login begins a session, which ends with the logout. */
  readonly sessions: boolean;
  /** The services that people may log in by, by name: OAUTH_<NAME>_ISSUER, _CLIENT_ID and _CLIENT_SECRET. */
  readonly oauth: Readonly<Record<string, OAuthProvider>>;
  /** True if a person reads the output of the shop. */
  readonly terminal: boolean;
  /** True if browsers are shown the explorer. */
  readonly explorer: boolean;
}

/** The password of the demo's administrator; undefined in production. */
export const DEFAULT_ADMIN_PASSWORD = 'admin-password';
const DEFAULT_NON_AUTH_ENDPOINTS = [
  '/api/auth/login',
  '/api/auth/register',
  '/api/auth/send-verification-email',
  'GET /api/products',
  '/health/',
];

/**
 * Reads the settings from environment variables; an empty one counts as absent.
 *
 * @throws ImproperlyConfigured naming the variable, the expected and the received value.
 * @example
 * readSettings({ PORT: '0', THROTTLE_IP: 'off' }).port;   // 0
 */
export function readSettings(variables: NodeJS.ProcessEnv = process.env): Settings {
  const environment = new Environment(variables);
  const production = environment.text('NODE_ENV') === 'production';
  return Object.freeze({
    production,
    host: environment.text('HOST') ?? '127.0.0.1',
    port: environment.integer('PORT', 0, 65535) ?? 3000,
    trustProxy: environment.trustProxy('TRUST_PROXY') ?? false,
    shutdownDelaySeconds: environment.integer('SHUTDOWN_DELAY', 0, 300) ?? 0,
    databaseUrl: environment.url('DATABASE_URL', ['sqlite', 'postgres', 'postgresql', 'mongodb', 'mongodb+srv']),
    databasePoolSize: environment.integer('DATABASE_POOL_SIZE', 2, 1000) ?? 10,
    databaseStatementTimeoutSeconds: environment.integer('DATABASE_STATEMENT_TIMEOUT', 1, 3600) ?? 15,
    redisUrl: environment.url('REDIS_URL', ['redis', 'rediss', 'redis+sentinel']),
    smtpUrl: environment.url('SMTP_URL', ['smtp', 'smtps']),
    mailFrom: environment.sender('MAIL_FROM') ?? 'shop@localhost',
    ...readSecrets(environment, variables, production),
    jwtAccessTokenExpiresSeconds: environment.integer('JWT_ACCESS_TOKEN_EXPIRES', 1, 2 ** 31 - 1) ?? 86_400,
    userCacheSeconds: environment.integer('USER_CACHE_SECONDS', 0, 300) ?? 0,
    nonAuthEndpoints: environment.list('NON_AUTH_ENDPOINTS') ?? DEFAULT_NON_AUTH_ENDPOINTS,
    throttleIp: environment.rate('THROTTLE_IP', { count: 100, seconds: 60 }),
    throttleUser: environment.rate('THROTTLE_USER', { count: 1000, seconds: 60 }),
    adminEmail: environment.email('ADMIN_EMAIL') ?? 'admin@example.com',
    adminPassword: environment.password('ADMIN_PASSWORD') ?? (production ? undefined : DEFAULT_ADMIN_PASSWORD),
    bcryptRounds: environment.integer('BCRYPT_ROUNDS', 4, 20) ?? 12,
    sessions: environment.onOff('SESSIONS') ?? true,
    oauth: environment.oauthProviders(),
    terminal: isatty(process.stdout.fd),
    explorer: environment.onOff('EXPLORER') ?? !production,
  });
}

function readSecrets(environment: Environment, variables: NodeJS.ProcessEnv, production: boolean) {
  const given = production ? environment.requiredSecret('SECRET_KEY') : environment.secret('SECRET_KEY');
  const secretKey = given ?? randomBytes(32).toString('base64url');
  environment.secret('JWT_SECRET');
  const { SECRET_KEY_FALLBACKS, JWT_SECRET, JWT_SECRET_FALLBACKS } = variables;
  const forCodes = { SECRET_KEY: secretKey, SECRET_KEY_FALLBACKS };
  return {
    secretKey,
    secretKeyIsRandom: given === undefined,
    jwtSecret: authSettings({ ...forCodes, JWT_SECRET, JWT_SECRET_FALLBACKS }).secret,
    codeSecret: authSettings(forCodes).secret,
  };
}
