/** `A || B` of permission classes is A, so B would never be checked. It fails at start where the text of a class has it. */
import t from 'tap';
import {
  action,
  HasRole,
  IsAuthenticated,
  IsOwner,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  ViewSet,
} from '../../src/index.ts';
import { checkOperators } from '../../src/permissions/operators.ts';

class Either extends ViewSet {
  override permissionClasses = [IsSafeMethodOnly || IsAuthenticated];
}
class Both extends ViewSet {
  override permissionClasses = [IsAuthenticated, IsSafeMethodOnly && HasRole('owner')];
}
class OfAction extends ViewSet {
  run = action({ methods: ['post'], permissionClasses: [IsRoleAdminUser || IsOwner('author')] }, () => ({}));
}
class Inherited extends Either {}

const isOpen = process.env['NEVER_SET'] !== undefined;
class Right extends ViewSet {
  override permissionClasses = [IsSafeMethodOnly.or(IsAuthenticated), ...(isOpen ? [] : [IsRoleAdminUser])];
  run = action({ permissionClasses: [IsAuthenticated] }, () => ({ value: isOpen || Number('7') }));
}

t.test('names the classes and the method to call', async (t) => {
  const check = (View: new () => ViewSet) => () => checkOperators(View.name, new View());
  t.throws(check(Either), {
    code: 'improperly_configured',
    message:
      'Either: permissionClasses has "IsSafeMethodOnly || IsAuthenticated", which is IsSafeMethodOnly in JavaScript, ' +
      'so IsAuthenticated is never checked; write IsSafeMethodOnly.or(IsAuthenticated)',
  });
  t.throws(check(Both), {
    message: /so IsSafeMethodOnly is never checked; write IsSafeMethodOnly\.and\(HasRole/,
  });
  t.throws(check(OfAction), { message: /so IsOwner\('author'\) is never checked/ });
  t.throws(check(Inherited), { message: /^Inherited: permissionClasses has/ });
  t.doesNotThrow(check(Right));
});
