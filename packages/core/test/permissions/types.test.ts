/** What must compile, and what must not: `tsc` is the test. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { AllowAny, IsAuthenticated } from '../../src/permissions/built-in-permissions.ts';
import { makePermissions, Permission, type PermissionView } from '../../src/permissions/permission.ts';

const Order = defineEntity({ name: 'Order', properties: { id: p.integer().primary(), total: p.integer() } });
type Order = InferEntity<typeof Order>;

export class IsSmall extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<Order>(view, { total__lt: 10 });
  }

  override hasObjectPermission(_request: FastifyRequest, _view: PermissionView, order: Order) {
    return order.total < 10;
  }
}

export class IsMisspelt extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    // @ts-expect-error -- no such field
    return this.records<Order>(view, { totl: 10 });
  }
}

export class IsOfAnotherType extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    // @ts-expect-error -- a number is no text
    return this.records<Order>(view, { total: '10' });
  }
}

export class IsOfNoEntity extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    // @ts-expect-error -- of which entity?
    return this.records(view, { totl: 10 });
  }
}

t.test('classes are listed, not instances', async (t) => {
  t.equal(makePermissions([AllowAny, IsSmall, IsSmall.or(IsAuthenticated).not()], 'test').length, 3);
  // @ts-expect-error -- an instance
  t.throws(() => makePermissions([new AllowAny()], 'test'));
  // @ts-expect-error -- not a permission
  t.throws(() => AllowAny.and(Map));
});
