import type { EntityName, MikroORM } from '@mikro-orm/core';
import {
  checkOwners,
  type CurrentUser,
  ImproperlyConfigured,
  MemoryStore,
  type ReadShape,
  readShape,
  requireTransactions,
  type Store,
  wrongOption,
} from '@viewset/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { AccessTokens, AuthorizationHeader, claimsOf, type TokenAccount } from './tokens/access-tokens.ts';
import { provideAccountNames } from './accounts/account-names.ts';
import { type AccountModel, checkAccount } from './accounts/account-contract.ts';
import { AccountInput } from './accounts/account-input.ts';
import { readRegistrationFields } from './routes/register.ts';
import { sharedHasher } from './accounts/account-subscriber.ts';
import { Accounts, type ShownFields } from './accounts/accounts.ts';
import { ApiKeyPayload, type ApiKeys, apiKeysOf } from './api-keys/api-keys.ts';
import { type AuthOptions, type MeOptions, type ResolvedAuthOptions, resolveAuthOptions } from './auth-options.ts';
import { Authentication, type Authenticate, type RetrieveUser, type StoreUser } from './tokens/authentication.ts';
import { decorateJwt, type JwtHelpers, jwtHelpers } from './tokens/jwt-helpers.ts';
import { LoginWays } from './accounts/login-ways.ts';
import { type AccessEntities, AccountAccess } from './accounts/remaining-access.ts';
import { ownerProof, type OwnerProofParts, type SecondFactor } from './login/owner-proof.ts';
import { recentProof, type RecentProofParts } from './login/recent-proof.ts';
import { checkCode } from './routes/two-factor.ts';
import { checkViews } from './views/checked-views.ts';
import { warnOfSignUps } from './views/open-sign-ups.ts';
import { CachedUsers, type UserSource } from './accounts/cached-users.ts';
import { passwordCheck } from './login/check-password.ts';
import { CodeMails, type CodeText } from './codes/code-mails.ts';
import { DeviceCookies } from './browsers/device-cookies.ts';
import type { EmailSender } from './codes/email-sender.ts';
import { declarePermissions } from './accounts/has-permission.ts';
import { Mails } from './codes/mails.ts';
import { CountedMails, provideMails } from './codes/request-mails.ts';
import { Notices } from './codes/notices.ts';
import type { KnownRoute, NonAuthEndpoints } from './tokens/non-auth-endpoints.ts';
import type { PasswordHasher } from './passwords/password-hasher.ts';
import { MailTokens } from './codes/mail-tokens.ts';
import { invitationsOf } from './invitations/invitations.ts';
import { PasswordRules } from './passwords/password-rules.ts';
import { RefreshCookie } from './sessions/refresh-cookie.ts';
import { RefreshTokens } from './sessions/refresh-tokens.ts';
import { passkeysOf } from './passkeys/passkeys.ts';
import { oauthParts } from './oauth/oauth.ts';
import { addAuthRoutes } from './routes/auth-routes.ts';
import { type CompleteLogin, loginCompletion } from './login/complete-login.ts';
import type { LoginLinkParts } from './routes/login-link.ts';
import type { MeParts } from './routes/me.ts';
import type { RefreshParts } from './routes/refresh.ts';
import type { SessionParts } from './routes/sessions.ts';
import { requiringSecondFactor, twoFactorParts } from './two-factors/second-factor.ts';
import { checkSession } from './sessions/session-contract.ts';
import { SessionRecords } from './sessions/session-records.ts';
import { Sessions } from './sessions/sessions.ts';
import { TokenUsers } from './accounts/token-users.ts';
import { VerificationCodes } from './codes/verification-codes.ts';
import { loginVerification, type VerifyLogin } from './login/verify-login.ts';
import { GuessLimit, PASSWORD_GUESSES } from './secrets/guess-limit.ts';

/** The functions of the plugin, as `app.auth`. Use them for your own kinds of login. */
export interface AuthInstance {
  /** Makes a token for an account whose role is loaded. It has no session, so no logout revokes it; see `completeLogin`. */
  issueToken(account: TokenAccount): string;
  /** The scheme to write before a token in the `Authorization` header: the option `tokenScheme`. */
  readonly tokenScheme: string;
  /** Signs and verifies tokens for purposes of your own. It is also `app.jwt.viewset`, as soon as the application is ready. */
  readonly jwt: JwtHelpers;
  /** Finds the account for an address and a password, with all checks of the login route. It does not log in. */
  readonly verifyLogin: VerifyLogin;
  /** The verification codes of registrations. `codes.for('newsletter')` makes codes for another purpose. */
  readonly codes: VerificationCodes;
  /** Completes a login of any kind, as the login route does. */
  readonly completeLogin: CompleteLogin;
  readonly authenticate: Authenticate;
  readonly retrieveUser: RetrieveUser;
  readonly storeUser: StoreUser;
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly auth: AuthInstance;
  }
}

/**
 * The Fastify plugin for login, registration, verification codes and the authentication of requests. Every route that is registered after
 * it needs a token, except those in `nonAuthEndpoints` and those with `config: { public: true }`. Register it after `viewset` and before
 * the routes that it should protect.
 *
 * Throws ImproperlyConfigured if an option is wrong, a secret is too short, an entity does not fit, or the ORM has no
 * transactions.
 *
 * @example
 * await app.register(auth, { account: Account, secret, urlPrefix: '/api/auth', mailer: new LogEmailSender(app.log) });
 * // POST /api/auth/login {"email":"ann@example.com","password":"…"}   200 {"access_token":"…"}
 */
export const auth = fp(
  async (app: FastifyInstance, given: AuthOptions): Promise<void> => {
    const options = resolveAuthOptions(given, app.prefix);
    const { orm } = app.viewset;
    const model = checkAccount(orm, options.account, options.fields, options.hasher.hashes);
    requireTransactions(orm, 'auth: the registration of an account, with the role that it refers to,');
    const hasher = usedHasher(app, model, options);
    const me = options.me && resolveMe(options.me, model, orm);
    const accounts = makeAccounts(orm, model, options, { hasher, me: me?.read });
    const records = sessionRecords(orm, options, model);
    const users = new TokenUsers(cached(accounts, orm, options), records && cached(records, orm, options));
    const tokens = new AccessTokens(options.token);
    const store = options.store ?? sharedStoreOf(app) ?? memoryStoreOf(app);
    const wiring = { orm, model, accounts, store, options, loginWays: loginWaysOf(accounts, options) };
    const apiKeys = apiKeysOf(wiring);
    const codeKeys = options.keyFor('verification codes');
    const codes = new VerificationCodes(store, codeKeys.keys);
    const wrongPasswords = new GuessLimit(store, codeKeys, PASSWORD_GUESSES);
    const devices = new DeviceCookies(options.keyFor('device cookies'));
    const sessions = records && sessionParts(options, app.prefix, records, users);
    const verifyLogin = loginVerification({ accounts, hasher, wrongPasswords, devices });
    const twoFactor = twoFactorParts(wiring, devices);
    const finishLogin = loginCompletion({ accounts, tokens, devices, sessions });
    const completeLogin = requiringSecondFactor(finishLogin, twoFactor, accounts);
    const header = new AuthorizationHeader(options.tokenScheme);
    const instance = makeInstance(options, { users, tokens, header, apiKeys }, { verifyLogin, completeLogin, codes });
    install(app, options, header, instance, model);
    const checkPassword = passwordCheck({ hasher, wrongPasswords, devices });
    const proofs = proofsOf({ accounts, checkPassword }, twoFactor, loginTimeOf(users, sessions));
    const passwordRules = new PasswordRules(options.passwords, hasher.maxBytes);
    const parts = codeParts(app, options, codes, { store, devices });
    const access = new AccountAccess(accessEntities(options), orm.em);
    const mails = sendersOf(options, parts, store, instance);
    const endPendingLogins = pendingLoginsEnder(accounts, parts.loginLink, twoFactor);
    if (app.viewset.checkTables) checkRoleOnListen(app, accounts);
    await app.register(async (scope) => {
      addAuthRoutes(scope, options.urlPrefix, options.routes, {
        accounts,
        hasher,
        verifyLogin,
        completeLogin,
        finishLogin,
        twoFactor,
        oauth: await oauthParts(wiring, app.prefix),
        apiKeys,
        permissions: options.permissions,
        publicKeys: options.token.keys.flatMap(({ jwk }) => jwk ?? []),
        checkPassword,
        ...proofs,
        access,
        passwordRules,
        registrationInput: registrationInputOf(options, model, passwordRules),
        me,
        sessions: refreshParts(options, sessions, { tokens, endPendingLogins }),
        passkeys: await passkeysOf(wiring),
        devices,
        ...parts,
        invitations: invitationsOf(wiring, { mails, access }, instance),
      });
    });
  },
  { name: '@viewset/auth', fastify: '5.x', dependencies: ['@viewset/core'] },
);

/** Makes the reader of further fields of a registration; undefined if there are none. */
function registrationInputOf(
  { registrationFields: fields }: ResolvedAuthOptions,
  model: AccountModel,
  rules: PasswordRules,
) {
  return fields && readRegistrationFields(fields, model, rules);
}

/** Makes an instance known to the application: to its requests, documents and permissions. */
function install(
  app: FastifyInstance,
  options: ResolvedAuthOptions,
  header: AuthorizationHeader,
  instance: ReturnType<typeof makeInstance>,
  { names, meta }: AccountModel,
): void {
  provideAccountNames(instance, names);
  app.decorate('auth', instance);
  decorateJwt(app, instance.jwt);
  addHooks(app, options, header, instance);
  documentSecurity(app, options.endpoints);
  checkViews(app);
  // Users that the application finds itself may have the ids of another entity.
  if (options.retrieveUser === undefined && options.storeUser === undefined) checkOwners(app, meta.class);
  if (options.permissions !== undefined) declareUntilClosed(app, options.permissions);
  warnOfEndpoints(app, options.endpoints);
  if (options.oauth !== undefined) warnOfSignUps(app, meta.className, options.endpoints);
}

/** Makes the queries of accounts. */
function makeAccounts(
  { em }: MikroORM,
  model: AccountModel,
  { defaultRole, me: shown, afterRegistration }: ResolvedAuthOptions,
  { hasher, me }: { readonly hasher: PasswordHasher; readonly me: ShownFields | undefined },
): Accounts {
  return new Accounts(model, defaultRole, hasher, em, { users: shown?.read, me, afterRegistration });
}

/** Makes the proofs that a request comes from the owner of an account. */
function proofsOf(
  parts: Pick<OwnerProofParts, 'accounts' | 'checkPassword'>,
  twoFactor: ReturnType<typeof twoFactorParts>,
  loginTime: RecentProofParts['loginTime'],
) {
  const proveOwner = ownerProof({ ...parts, secondFactor: secondFactorOf(twoFactor) });
  const proveRecently = recentProof({ proveOwner, hasCodes: twoFactor !== undefined, loginTime });
  return { proveOwner, proveRecently };
}

/** Returns the second factors of accounts; undefined if two factors are off. */
function secondFactorOf(twoFactor: ReturnType<typeof twoFactorParts>): SecondFactor | undefined {
  if (twoFactor === undefined) return undefined;
  return {
    isOn: ({ em }, account) => twoFactor.twoFactors.isOn(em, account),
    check: (request, account, code) => checkCode(twoFactor, request, account, code),
  };
}

/** Returns the ORM's hasher, made by the first application, and warns if these options differ. */
function usedHasher(app: FastifyInstance, model: AccountModel, options: ResolvedAuthOptions): PasswordHasher {
  const hasher = sharedHasher(app.viewset.orm, model, options.hasher);
  if (hasher.rounds !== options.hasher.rounds) {
    const rounds = { bcryptRounds: options.hasher.rounds, used: hasher.rounds };
    app.log.warn(rounds, 'auth: option "bcryptRounds" differs from that of an earlier application of the same ORM');
  }
  const [{ kind }, { kind: wanted }] = [hasher.hashes, options.hasher.hashes];
  if (kind !== wanted) {
    app.log.warn({ used: kind }, 'auth: option "argon2" differs from that of an earlier application of the same ORM');
  }
  return hasher;
}

/** Makes the codes for each purpose, and their senders. */
function codeParts(
  app: FastifyInstance,
  options: ResolvedAuthOptions,
  codes: VerificationCodes,
  { store, devices }: { readonly store: Store; readonly devices: DeviceCookies },
) {
  const mails = new Mails(options.mailer ?? NO_MAILER);
  app.addHook('preClose', async () => mails.beginClose());
  app.addHook('onClose', () => mails.close(app.log));
  const mailsOf = (each: VerificationCodes): CodeMails =>
    new CodeMails(each, mails, options.verificationEmail, devices);
  const [resetCodes, emailChangeCodes] = [codes.for('password-reset'), codes.for('email-change')];
  return {
    codes,
    codeMails: mailsOf(codes),
    resetCodes,
    resetMails: mailsOf(resetCodes),
    emailChangeCodes,
    emailChangeMails: mailsOf(emailChangeCodes),
    emailChangeNotice: options.emailChangeNotice,
    passwordChangeNotice: options.passwordChangeNotice,
    notices: options.mailer && new Notices(mails, store, options.keyFor('notices')),
    mails,
    loginLink: loginLinkParts(options, codes, mails, devices),
  };
}

/** Makes the mails of the application's views. */
function sendersOf(
  { mailer, keyFor }: ResolvedAuthOptions,
  { mails }: { readonly mails: Mails },
  store: Store,
  instance: AuthInstance,
): CountedMails {
  const keys = keyFor('mails of users');
  // With other keys these mails have counters of their own: users who invite an address use up none of its codes.
  const counters = new VerificationCodes(store, keys.for('addresses').keys);
  const counted = new CountedMails({ mails, counters, store, keys });
  if (mailer !== undefined) provideMails(instance, counted);
  return counted;
}

/** Returns the parts of logins by a link; undefined if they are off. */
function loginLinkParts(
  { loginLink, keyFor }: ResolvedAuthOptions,
  codes: VerificationCodes,
  mails: Mails,
  devices: DeviceCookies,
): LoginLinkParts | undefined {
  if (loginLink === undefined) return undefined;
  const loginCodes = codes.for('login-link');
  const { linkOf, email: write } = loginLink;
  const tokens = new MailTokens(keyFor('login links'), 'login link');
  const text: CodeText = (code, minutes, _purpose, email) =>
    write(linkOf(tokens.seal({ email, secret: code })), minutes);
  const loginMails = new CodeMails(loginCodes, mails, text, devices);
  return { loginCodes, loginMails, tokens, keys: keyFor('accounts of login links') };
}

/** Returns the parts of refreshes; undefined if sessions are off. */
function refreshParts(
  options: ResolvedAuthOptions,
  sessions: SessionParts | undefined,
  more: Pick<RefreshParts, 'tokens' | 'endPendingLogins'>,
): RefreshParts | undefined {
  return sessions && { ...sessions, ...more, origins: options.sessions!.origins };
}

/** Makes the function that ends an account's logins that have begun, when it logs out everywhere. */
function pendingLoginsEnder(
  accounts: Accounts,
  loginLink: LoginLinkParts | undefined,
  twoFactor: ReturnType<typeof twoFactorParts>,
): RefreshParts['endPendingLogins'] {
  return async (request, id) => {
    try {
      await twoFactor?.attempts.endAll(id);
      const account = loginLink && (await accounts.byId(request.em, id));
      if (account !== undefined) await loginLink!.loginCodes.cancel(account.email);
    } catch (error) {
      // The sessions end nevertheless.
      request.log.warn({ err: error, account: id }, 'the logins that have begun could not be ended');
    }
  };
}

/** Replaces the mailer if no route sends mail. */
const NO_MAILER: EmailSender = { send: () => Promise.reject(new Error('There is no mailer')) };

function resolveMe(
  { read, write, delete: deletion = true }: MeOptions,
  model: AccountModel,
  orm: MikroORM,
): MeParts['me'] {
  const { email, name, is_active, role } = model.names;
  const isShape = read === undefined || typeof (read as Partial<typeof read> | null)?.bind === 'function';
  if (!isShape) throw wrongOption('auth', 'me.read', 'a readShape() of the account', read);
  const shown = (read as ReadShape<object, object> | undefined)?.bind(model.meta, orm.em.getPlatform());
  if (shown?.forRequest !== undefined) {
    throw new ImproperlyConfigured(
      'auth: option "me.read" makes `request.user`, before there is a user: no exists(), count() or computed() in it may use the request',
    );
  }
  if (typeof deletion !== 'boolean' && typeof deletion !== 'function') {
    throw wrongOption('auth', 'me.delete', 'true, false or a function', deletion);
  }
  const usual = { email, name, role: `${role}.name`, is_active };
  return {
    read: read ?? readShape(model.account as EntityName<object>, ['id'] as never[], usual as never),
    input: write && new AccountInput('me.write', write, model, ['name']),
    deletion: deletion === true ? (_request, remove) => remove() : deletion === false ? undefined : deletion,
  };
}

/** Returns the finder of users by session; undefined if sessions are off. */
function sessionRecords(
  orm: MikroORM,
  { sessions, me }: ResolvedAuthOptions,
  account: AccountModel,
): SessionRecords | undefined {
  if (sessions === undefined) return undefined;
  return new SessionRecords(checkSession(orm, sessions.entity, account), account, orm.em, me?.read);
}

function cached(source: UserSource, orm: MikroORM, { userCache }: ResolvedAuthOptions): UserSource {
  return userCache === undefined ? source : new CachedUsers(source, orm.em, userCache);
}

function sessionParts(
  options: ResolvedAuthOptions,
  scopePrefix: string,
  records: SessionRecords,
  { currentSession }: TokenUsers,
): SessionParts {
  const sessions = new Sessions(records, new RefreshTokens(options.keyFor('refresh tokens')), options.sessions!);
  return {
    sessions,
    cookie: new RefreshCookie(scopePrefix + options.urlPrefix, options.sessions!.cookie),
    currentSession,
  };
}

/** Returns the entities of what gives access to accounts. */
function accessEntities({ apiKeys, passkeys, oauth, twoFactor }: ResolvedAuthOptions): AccessEntities {
  return {
    api_keys: apiKeys?.entity as EntityName<object> | undefined,
    passkeys: passkeys?.entity as EntityName<object> | undefined,
    services: oauth?.identity as EntityName<object> | undefined,
    two_factor: twoFactor?.entity as EntityName<object> | undefined,
  };
}

function loginWaysOf(accounts: Accounts, options: ResolvedAuthOptions): LoginWays {
  const { passkeys, services } = accessEntities(options);
  const { routes, oauth } = options;
  const provider__in = oauth?.providers.map(({ name }) => name) ?? [];
  return new LoginWays({
    accounts,
    hasPasswordLogin: routes.has('login'),
    hasLinkLogin: routes.has('login-link'),
    ways: [
      ...(passkeys !== undefined && routes.has('login-passkey') ? [{ entity: passkeys }] : []),
      ...(services !== undefined && routes.has('oauth') ? [{ entity: services, where: { provider__in } }] : []),
    ],
  });
}

/** Returns the function that tells when the user of a request logged in. */
function loginTimeOf(
  users: TokenUsers,
  sessions: SessionParts | undefined,
): (request: FastifyRequest) => Promise<Date | undefined> {
  return async (request) => {
    const session = users.currentSession(request);
    // A refreshed token is newer than its login.
    return session === undefined ? users.issuedAt(request) : sessions?.sessions.begun(request, session);
  };
}

/** The functions that identify the sender of a request. */
interface Senders {
  readonly users: TokenUsers;
  readonly tokens: AccessTokens;
  readonly header: AuthorizationHeader;
  readonly apiKeys: ApiKeys | undefined;
}

function makeInstance(
  options: ResolvedAuthOptions,
  { users, tokens, header, apiKeys }: Senders,
  parts: Pick<AuthInstance, 'verifyLogin' | 'completeLogin' | 'codes'>,
): AuthInstance {
  const retrieve: RetrieveUser = (request, payload) => {
    // The application declares the type of its users; without a custom `retrieveUser` they are AccountUsers.
    const user: unknown =
      payload instanceof ApiKeyPayload ? apiKeys?.user(request, payload) : users.find(request, payload);
    return user as ReturnType<RetrieveUser>;
  };
  return Object.freeze({
    ...parts,
    issueToken: (account) => tokens.issue(claimsOf(account)),
    tokenScheme: options.tokenScheme,
    jwt: jwtHelpers(tokens),
    authenticate:
      options.authenticate ??
      ((request) => {
        const token = header.requireToken(request.headers.authorization);
        return apiKeys?.payload(token) ?? tokens.read(token);
      }),
    retrieveUser: options.retrieveUser === undefined ? retrieve : users.whileSessionLives(options.retrieveUser),
    storeUser:
      options.storeUser ??
      (async (request, userId) => {
        const user: unknown = await users.byId(request, userId);
        if (user !== null) request.user = user as CurrentUser;
      }),
  } satisfies AuthInstance);
}

function addHooks(
  app: FastifyInstance,
  options: ResolvedAuthOptions,
  header: AuthorizationHeader,
  { authenticate, retrieveUser }: AuthInstance,
): void {
  const needsHeader = options.authenticate === undefined;
  const replaceable = [options.authenticate, options.retrieveUser, options.storeUser];
  const areBuiltIn = replaceable.every((step) => step === undefined);
  const steps = { authenticate, retrieveUser, storeUser: options.storeUser, header, needsHeader, areBuiltIn };
  const authentication = new Authentication(steps, options.endpoints);
  app.addHook('onRequest', authentication.onRequest);
  // Another scope of the application may have other authentication, or none.
  app.viewset.live.identify.add(async (request) => {
    const isThisPlugin = request.server.hasDecorator('auth') && request.server.auth === app.auth;
    if (isThisPlugin) await authentication.identifyAgain(request);
  });
}

/** Tells documents for each route if it needs a token. Some URLs of a route may be open. */
function documentSecurity(app: FastifyInstance, endpoints: NonAuthEndpoints): void {
  app.addHook('onRoute', (route) => {
    const { method, url, config } = route;
    const isOpen = config?.public === true || config?.viewset?.allowsAnonymous === true;
    const needsTokenAt = (path: string): boolean =>
      !isOpen && ![method].flat().every((each) => endpoints.includes(each, path));
    route.config = { ...config, needsToken: needsTokenAt(config?.viewset?.path ?? url), needsTokenAt };
  });
}

/** Warns at start of each entry of `nonAuthEndpoints` that opens no route. */
function warnOfEndpoints(app: FastifyInstance, endpoints: NonAuthEndpoints): void {
  const routes: KnownRoute[] = [];
  app.addHook('onRoute', ({ method, url }) => void routes.push({ method, url }));
  app.addHook('onReady', async () => {
    for (const entry of endpoints.withoutRoute((method, url) => app.findRoute({ method, url }) !== null, routes)) {
      app.log.warn(
        { entry },
        `auth: no route has the path "${entry}" of option "nonAuthEndpoints" (NON_AUTH_ENDPOINTS)`,
      );
    }
  });
}

/** Looks up the role of new accounts after the application listens. Nothing waits for it. */
function checkRoleOnListen(app: FastifyInstance, accounts: Accounts): void {
  app.addHook('onListen', (done) => {
    done();
    accounts.checkRole(app.viewset.orm.em.fork(), app.log).catch((error: unknown) => {
      app.log.debug({ err: error }, 'auth: the role of option "defaultRole" was not looked up');
    });
  });
}

function declareUntilClosed(app: FastifyInstance, permissions: readonly string[]): void {
  const forget = declarePermissions(permissions);
  app.addHook('onClose', async () => forget());
}

/** The store of `viewset`, if processes share it. A MemoryStore has codes of one process, so each plugin has its own. */
function sharedStoreOf({ viewset: { store } }: FastifyInstance): Store | undefined {
  return store instanceof MemoryStore ? undefined : store;
}

function memoryStoreOf(app: FastifyInstance): MemoryStore {
  const store = new MemoryStore();
  app.addHook('onClose', async () => store.close());
  return store;
}
