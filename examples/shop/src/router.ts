import { Router } from '@viewset/core';
import { AccountViewSet } from './viewsets/account-viewset.ts';
import { ProductViewSet } from './viewsets/product-viewset.ts';
import { RoleViewSet } from './viewsets/role-viewset.ts';

/** The views of the shop by their paths, for one application. */
export function shopRouter() {
  return new Router({ prefix: 'api' })
    .register('products', ProductViewSet)
    .register('roles', RoleViewSet)
    .register('accounts', AccountViewSet);
}

/** The type of the API, for `createClient<Api>()` of `@viewset/client`. */
export type Api = ReturnType<typeof shopRouter>;
