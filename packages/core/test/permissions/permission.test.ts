import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  AllowAny,
  IsAuthenticated,
  HasRole,
  IsRoleAdminUser,
  IsSafeMethodOnly,
} from '../../src/permissions/built-in-permissions.ts';
import { evaluatePermissions, type PermissionGrant } from '../../src/permissions/evaluate.ts';
import {
  makePermissions,
  Permission,
  type PermissionClass,
  type PermissionView,
} from '../../src/permissions/permission.ts';

const view: PermissionView = { name: 'ThingViewSet', getAction: () => 'retrieve' };
const anonymousGet = request('GET');

function request(method: string, user: unknown = null): FastifyRequest {
  return { method, user } as unknown as FastifyRequest;
}

/** A permission that answers as it is told, and writes down what it was asked. */
function told(
  asked: string[],
  name: string,
  answers: { view?: boolean; object?: boolean; later?: boolean },
): PermissionClass {
  const answer = (question: string, value: boolean): boolean | Promise<boolean> => {
    asked.push(`${name} ${question}`);
    return answers.later === true ? Promise.resolve(value) : value;
  };
  class Recording extends Permission {
    override hasPermission(): boolean | Promise<boolean> {
      return answer('view', answers.view ?? true);
    }
  }
  class RecordingObjects extends Recording {
    override hasObjectPermission(): boolean | Promise<boolean> {
      return answer('object', answers.object ?? true);
    }
  }
  const Class = answers.object === undefined ? Recording : RecordingObjects;
  Object.defineProperty(Class, 'name', { value: name });
  return Class;
}

function evaluate(classes: readonly PermissionClass[], object: boolean, from = anonymousGet): PermissionGrant {
  const grant = evaluatePermissions(makePermissions(classes, 'test'), from, view, { object });
  if (grant instanceof Promise) throw new Error('a promise where none was needed');
  return grant;
}

t.test('the built-in classes', async (t) => {
  const passes = (Class: PermissionClass, from: FastifyRequest): boolean => !evaluate([Class], false, from).denied;
  const user = { id: 1, role: { name: 'user' } };
  const admin = { id: 2, role: { name: 'admin' } };
  t.ok(passes(AllowAny, request('DELETE')));
  t.notOk(passes(IsAuthenticated, request('GET')));
  t.ok(passes(IsAuthenticated, request('GET', user)));
  for (const method of ['GET', 'HEAD', 'OPTIONS']) t.ok(passes(IsSafeMethodOnly, request(method)), method);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) t.notOk(passes(IsSafeMethodOnly, request(method)), method);
  t.notOk(passes(IsRoleAdminUser, request('GET')));
  t.notOk(passes(IsRoleAdminUser, request('GET', user)));
  t.notOk(passes(IsRoleAdminUser, request('GET', { id: 3, role: null })));
  t.notOk(passes(IsRoleAdminUser, request('GET', { id: 3 })));
  t.ok(passes(IsRoleAdminUser, request('GET', admin)));
  t.notOk(passes(HasRole('user'), request('GET', admin)));
  t.ok(passes(HasRole('user'), request('GET', user)));
  t.equal(HasRole('admin'), IsRoleAdminUser, 'one class for one role');
  t.ok(passes(HasRole('owner', 'user'), request('GET', user)), 'one of several');
  t.throws(() => (HasRole as () => unknown)(), { message: /^HasRole\(\): option "roles" must be names of roles/ });
  t.equal(HasRole('user').name, 'HasRole(user)');
  t.throws(() => HasRole(''), { name: 'ImproperlyConfigured' });
  class IsOwnerRole extends IsRoleAdminUser {
    protected override readonly roles = ['user'];
  }
  t.ok(passes(IsOwnerRole, request('GET', user)));
});

t.test('no permissions, or only AllowAny, allow everything and run no check', async (t) => {
  for (const classes of [[], [AllowAny], [AllowAny, AllowAny]]) {
    for (const object of [true, false]) {
      const grant = evaluate(classes, object);
      t.match(grant, { denied: false, scope: undefined, needsObject: false });
      t.equal(grant.allows({}), true);
    }
  }
});

t.test('all listed classes must allow, and none is evaluated after one that refuses', async (t) => {
  const asked: string[] = [];
  const grant = evaluate(
    [told(asked, 'A', {}), told(asked, 'B', { view: false, object: true }), told(asked, 'C', {})],
    true,
  );
  t.ok(grant.denied);
  t.equal(grant.allows({}), false);
  t.same(asked, ['A view', 'B view']);
});

t.test('object checks run for the object only, in order, until one refuses', async (t) => {
  const asked: string[] = [];
  const classes = [
    told(asked, 'A', { object: true }),
    told(asked, 'B', {}),
    told(asked, 'C', { object: false }),
    told(asked, 'D', { object: true }),
  ];
  const grant = evaluate(classes, true);
  t.match(grant, { denied: false, scope: undefined, needsObject: true });
  t.same(asked.splice(0), ['A view', 'B view', 'C view', 'D view']);
  t.equal(grant.allows({}), false);
  t.same(asked, ['A object', 'C object']);
});

t.test('lists do not need objects, but a record can still be checked', async (t) => {
  const asked: string[] = [];
  const grant = evaluate([told(asked, 'A', { object: false })], false);
  t.match(grant, { denied: false, needsObject: false });
  t.equal(grant.allows({}), false, 'a collection action asks about a record: it is looked at');
});

t.test('a check that cannot change the result is not evaluated', async (t) => {
  const asked: string[] = [];
  const yes = told(asked, 'yes', {});
  const no = told(asked, 'no', { view: false });
  const other = told(asked, 'other', {});
  const asks = (Class: PermissionClass): string[] => {
    evaluate([Class], true);
    return asked.splice(0);
  };
  t.same(asks(yes.or(other)), ['yes view']);
  t.same(asks(no.or(other)), ['no view', 'other view']);
  t.same(asks(no.and(other)), ['no view']);
  t.same(asks(yes.and(other)), ['yes view', 'other view']);
  t.same(asks(no.not().or(other)), ['no view']);
  t.same(asks(yes.not().and(other)), ['yes view']);
});

t.test('OR does not grant access through the check that was not evaluated', async (t) => {
  const asked: string[] = [];
  const viewOnly = told(asked, 'no', { view: false });
  const objectNo = told(asked, 'objectNo', { object: false });
  const objectYes = told(asked, 'objectYes', { object: true });
  t.equal(evaluate([viewOnly.or(objectNo)], true).allows({}), false, 'refused at the view, it does not grant objects');
  t.equal(evaluate([objectNo.or(viewOnly)], true).allows({}), false);
  t.equal(evaluate([objectNo.or(objectYes)], true).allows({}), true);
  t.equal(evaluate([told(asked, 'half', { view: false, object: true }).or(objectNo)], true).allows({}), false);
});

t.test('a negated class that has only a view check denies no object', async (t) => {
  const grant = evaluate([IsAuthenticated.not()], true);
  t.match(grant, { denied: false, needsObject: false });
  t.equal(grant.allows({}), true);
  t.ok(evaluate([IsAuthenticated.not()], true, request('GET', { id: 1 })).denied);
});

t.test('a negated class that has only an object check denies no list', async (t) => {
  const asked: string[] = [];
  const IsMine = told(asked, 'IsMine', { object: true });
  t.match(evaluate([IsMine.not()], false), { denied: false, scope: undefined, needsObject: false });
  const grant = evaluate([IsMine.not()], true);
  t.match(grant, { denied: false, needsObject: true });
  t.equal(grant.allows({}), false);
});

t.test('promises are waited for, and made only where a check makes one', async (t) => {
  const asked: string[] = [];
  const later = told(asked, 'later', { object: true, later: true });
  const laterNo = told(asked, 'laterNo', { view: false, later: true });
  const now = told(asked, 'now', { object: true });
  const [permissions, laterList] = [
    makePermissions([later.and(now)], 'test'),
    makePermissions([now.and(laterNo)], 'test'),
  ];
  const grant = await evaluatePermissions(permissions, anonymousGet, view, { object: true });
  t.equal(await grant.allows({}), true);
  t.ok((await evaluatePermissions(laterList, anonymousGet, view, { object: true })).denied);
  t.notOk(evaluate([now.and(now).or(now.not())], true).allows({}) instanceof Promise);
});

t.test('a composition is a permission class itself', async (t) => {
  const asked: string[] = [];
  const yes = told(asked, 'Yes', {});
  const no = told(asked, 'No', { view: false });
  const Either = no.or(yes);
  t.equal(Either.name, '(No or Yes)');
  t.equal(Either.and(yes.not()).name, '((No or Yes) and (not Yes))');
  const either = new Either();
  t.ok(either instanceof Permission);
  t.equal(either.hasPermission(anonymousGet, view), true);
  t.equal(either.hasObjectPermission(anonymousGet, view, {}), true);
  t.equal(new (yes.and(no))().hasPermission(anonymousGet, view), false);
  t.equal(new (yes.and(no))().hasObjectPermission(anonymousGet, view, {}), false);
});

t.test('a class that extends a composition and overrides a check uses its override', async (t) => {
  class ReadOnlyUnlessLoggedIn extends IsSafeMethodOnly.or(IsAuthenticated) {}
  t.ok(evaluate([ReadOnlyUnlessLoggedIn], false, request('POST')).denied);
  t.equal(ReadOnlyUnlessLoggedIn.name, 'ReadOnlyUnlessLoggedIn');

  class NeverDelete extends IsSafeMethodOnly.or(IsAuthenticated) {
    override hasPermission(from: FastifyRequest, its: PermissionView): boolean | Promise<boolean> {
      return from.method !== 'DELETE' && super.hasPermission(from, its);
    }
  }
  t.notOk(evaluate([NeverDelete], true, request('PUT', { id: 1 })).denied);
  t.ok(evaluate([NeverDelete], true, request('DELETE', { id: 1 })).denied);
  t.ok(evaluate([NeverDelete], true, request('PUT')).denied);

  class Closed extends AllowAny.or(AllowAny) {
    override hasPermission = (): boolean => false;
  }
  t.ok(evaluate([Closed], false).denied, 'a property overrides as well as a method');
});

t.test('instances are made once', async (t) => {
  let made = 0;
  class Counted extends Permission {
    readonly number = ++made;
    override hasPermission() {
      return true;
    }
  }
  const permissions = makePermissions([Counted, Counted.or(Counted)], 'test');
  t.equal(made, 3);
  for (let i = 0; i < 3; i++) void evaluatePermissions(permissions, anonymousGet, view, { object: true });
  t.equal(made, 3);
});

t.test('a value that is not a permission class is rejected by name', async (t) => {
  const refused = (value: unknown): unknown =>
    t.throws(() => makePermissions(value as never, 'ThingViewSet.list'), { name: 'ImproperlyConfigured' });
  t.throws(() => makePermissions([AllowAny, new AllowAny() as never], 'ThingViewSet.list'), {
    message:
      'ThingViewSet.list: option "permissionClasses[1]" must be a class that extends Permission, got an object of AllowAny',
  });
  for (const value of [[Map], [() => true], ['IsAuthenticated'], [null], AllowAny, null]) refused(value);
  t.throws(() => AllowAny.or(undefined as never), {
    message: /^AllowAny\.or\(\): option "other" must be a class that extends Permission/,
  });
  t.throws(() => AllowAny.and({} as never), { name: 'ImproperlyConfigured' });
});

t.test('records needs a view with an entity', async (t) => {
  class Mine extends Permission {
    override scope(_request: FastifyRequest, its: PermissionView) {
      return this.records<{ owner: number }>(its, { owner: 1 });
    }
  }
  t.throws(() => evaluate([Mine], false), { message: 'Mine: ThingViewSet has no entity to find records of' });
});

t.test('a misspelt check is rejected, because a class without checks would allow everybody', async (t) => {
  class Plural extends Permission {
    hasPermissions(): boolean {
      return false;
    }
  }
  const message = 'Plural: "hasPermissions" is never called; did you mean "hasPermission"?';
  t.throws(() => makePermissions([Plural], 'test'), { name: 'ImproperlyConfigured', message });
  t.throws(() => makePermissions([AllowAny.and(Plural)], 'test'), { message });
  class Snake extends IsAuthenticated {
    has_object_permission = () => false;
  }
  t.throws(() => makePermissions([Snake], 'test'), { message: /"has_object_permission" .* "hasObjectPermission"/ });
  class Helped extends IsAuthenticated {
    hasPermissionFor(): boolean {
      return true;
    }
  }
  t.equal(makePermissions([Helped, AllowAny], 'test').length, 2, 'beside the question itself it is a helper');
});
