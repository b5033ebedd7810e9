/** `request.user` in actions: not null where no permission lets anybody else in, and the run time agrees. */
import fastify, { type FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  AllowAny,
  type AuthenticatedRequest,
  type CurrentUser,
  getCurrentUser,
  IsAuthenticated,
  HasRole,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  Permission,
  type PermissionClass,
  Router,
  serverOptions,
  ViewSet,
  viewset,
  type ViewsetOptions,
} from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { LIBRARY } from '../support/library.ts';

class Always extends Permission {
  override hasPermission() {
    return true;
  }
}
class IsNumberSeven extends Permission {
  override hasPermission(request: FastifyRequest): request is AuthenticatedRequest {
    return getCurrentUser(request)?.id === 7;
  }
}
const OTHER = IsAuthenticated.not();
const spread: readonly (typeof IsAuthenticated)[] = [];
const isStrict = Math.random() > 2;

/** What an action sees of its user; the parameter's type says that there is one. */
const known = ({ user }: { user: CurrentUser }) => ({ id: user.id });
const perhaps = ({ user }: { user: CurrentUser | null }) => ({ id: user?.id ?? null });

/** Actions whose user is never null, by their type. */
class Known extends ViewSet {
  override permissionClasses = [AllowAny];
  plain = action({ permissionClasses: [IsAuthenticated] }, known);
  posted = action({ methods: ['post'], permissionClasses: [IsAuthenticated] }, known);
  second = action({ permissionClasses: [Always, IsSafeMethodOnly, IsAuthenticated] }, known);
  admin = action({ permissionClasses: [IsRoleAdminUser] }, known);
  named = action({ permissionClasses: [HasRole('owner')] }, known);
  both = action({ permissionClasses: [Always.and(IsAuthenticated)] }, known);
  chained = action({ permissionClasses: [IsAuthenticated.and(Always).and(IsSafeMethodOnly)] }, known);
  either = action({ permissionClasses: [IsAuthenticated.or(IsRoleAdminUser)] }, known);
  distributed = action({ permissionClasses: [IsAuthenticated.and(Always.or(IsSafeMethodOnly))] }, known);
  own = action({ permissionClasses: [IsNumberSeven] }, known);
  after = action({ permissionClasses: [...spread, IsAuthenticated] }, known);
  opened = action({ permissionClasses: [IsAuthenticated], allowAnonymous: true }, known);
}

/** Actions that somebody who is not logged in may reach, as far as the types can tell. */
class Perhaps extends ViewSet {
  override permissionClasses: readonly PermissionClass[] = [IsAuthenticated];
  // @ts-expect-error -- the view's classes may be overridden, and are no part of the action
  inherited = action({}, known);
  // @ts-expect-error -- in the place of the view's classes
  open = action({ permissionClasses: [AllowAny] }, known);
  // @ts-expect-error -- nobody is asked
  none = action({ permissionClasses: [] }, known);
  // @ts-expect-error -- whoever reads need not be logged in
  reading = action({ permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)] }, known);
  // @ts-expect-error -- whoever is not logged in
  others = action({ permissionClasses: [OTHER] }, known);
  // @ts-expect-error -- the list may be empty
  empty = action({ permissionClasses: [...spread] }, known);
  // @ts-expect-error -- the list may be another one
  chosen = action({ permissionClasses: isStrict ? [IsAuthenticated] : [AllowAny] }, known);
  // @ts-expect-error -- the class may be another one
  chosenClass = action({ permissionClasses: [isStrict ? IsAuthenticated : AllowAny] }, known);
  // @ts-expect-error -- both may let in whoever reads
  openBoth = action({ permissionClasses: [Always.and(IsSafeMethodOnly.or(IsAuthenticated))] }, known);
  fine = action({ permissionClasses: [AllowAny] }, perhaps);
}

export class Loose extends IsAuthenticated {
  // @ts-expect-error -- lets in others, which actions behind IsAuthenticated rely on not to happen
  override hasPermission(): boolean {
    return true;
  }
}

async function app(t: Test, options: Partial<ViewsetOptions> = {}) {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm: await openSqlite(t, { entities: LIBRARY }), ...options });
  app.addHook('onRequest', async (request) => {
    const role = request.headers['x-user'];
    if (typeof role === 'string') request.user = { id: 7, role: { name: role } };
  });
  await app.register(new Router().register('known', Known).register('perhaps', Perhaps).plugin);
  return app;
}

t.test('a handler whose type promises a user is never called without one', async (t) => {
  const known = await app(t);
  const actions = known.viewset.operations.filter(({ view }) => view.name === 'Known');
  t.equal(actions.length, 12);
  for (const { action, method, path } of actions) {
    t.equal((await known.inject({ method, url: path })).statusCode, 401, action);
    const role = action === 'named' ? 'owner' : 'admin';
    const { statusCode, body } = await known.inject({ method, url: path, headers: { 'x-user': role } });
    t.strictSame([statusCode, body], [200, '{"id":7}'], action);
  }
});

t.test('request.user is also set for a user that the application stores elsewhere', async (t) => {
  const kept = await app(t, {
    user: ({ headers }) => (headers['x-account'] === undefined ? null : { id: 7, role: { name: 'admin' } }),
  });
  const headers = { 'x-account': '1' };
  t.equal((await kept.inject('/known/plain')).statusCode, 401);
  t.equal((await kept.inject({ url: '/known/plain', headers })).body, '{"id":7}');
});

t.test('AllowAny on an action allows everybody, with any permissions of the view', async (t) => {
  const open = await app(t);
  t.equal((await open.inject('/perhaps/fine')).body, '{"id":null}');
});
