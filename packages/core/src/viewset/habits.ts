import { ImproperlyConfigured } from '../errors.ts';
import { actionsOf } from './action.ts';
import { ownMembers } from './own-members.ts';
import type { Operation } from './operation.ts';

/** Leaves out what tells `search_fields` from `searchFields`. */
export function spelledAlike(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/** Names that views have in Django REST framework, and what has their place in any view. */
const OF_ANY_VIEW: Readonly<Record<string, string>> = {
  authenticationclasses: 'the application authenticates for all views, and "allowAnonymous" opens one',
  getauthenticators: 'the application authenticates for all views, and "allowAnonymous" opens one',
  getpermissions:
    'an action has "permissionClasses" of its own, and a class of the view may ask view.getAction(request)',
  throttleclasses: 'rules are instances in "throttles"',
  throttlescope: 'rules are instances in "throttles"',
  getthrottles: 'rules are instances in "throttles"',
  httpmethodnames: 'a view has the methods of its "operations" and actions',
  partialupdate: 'update has PATCH as well as PUT',
};

/** And in a view of an entity. */
const OF_RECORDS: Readonly<Record<string, string>> = {
  queryset: 'getQueryset returns the records of a request',
  serializerclass: 'the options "read" and "write" are shapes',
  getserializer: 'the options "read" and "write" are shapes, and readShapeFor chooses one for a request',
  getserializerclass: 'the options "read" and "write" are shapes, and readShapeFor chooses one for a request',
  torepresentation: 'the option "read" says what is sent, and represent makes it of an entity',
  paginationclass: 'it is the option "pagination"',
  paginatequeryset: 'paginate answers with a page',
  filterbackends: 'they are the option "filters"',
  filtersetclass: 'parameters are declared by the option "filterFields"',
  filtersetfields: 'parameters are declared by the option "filterFields"',
};

/**
 * Refuses what a view of Django REST framework would have, and nothing reads here. It may guard something there.
 *
 * @throws ImproperlyConfigured that says what has its place
 */
export function checkHabits(view: { readonly name: string }, hasRecords: boolean): void {
  const actions = actionsOf(view);
  for (const { name, value } of ownMembers(view)) {
    const spelled = spelledAlike(name);
    const table = hasRecords && Object.hasOwn(OF_RECORDS, spelled) ? OF_RECORDS : OF_ANY_VIEW;
    if (!Object.hasOwn(table, spelled) || actions.has(name)) continue;
    // A method by this name is a view's own: there it is a value.
    if (spelled === 'queryset' && typeof value === 'function') continue;
    throw new ImproperlyConfigured(`${view.name}: nothing reads "${name}"; ${table[spelled]!}`);
  }
}

/** What the methods of a controller of NestJS are called, and other servers' by HTTP. */
const OPERATIONS_ELSEWHERE: Readonly<Record<string, Operation>> = {
  findall: 'list',
  getall: 'list',
  findone: 'retrieve',
  getone: 'retrieve',
  patch: 'update',
  put: 'update',
  remove: 'destroy',
  delete: 'destroy',
};

/** The operation that a method of a view without one would be elsewhere, or that has its letters in another order. */
export function operationMeant(name: string, free: readonly string[]): string | undefined {
  const spelled = spelledAlike(name);
  const elsewhere = Object.hasOwn(OPERATIONS_ELSEWHERE, spelled) ? OPERATIONS_ELSEWHERE[spelled] : undefined;
  if (elsewhere !== undefined) return free.includes(elsewhere) ? elsewhere : undefined;
  return free.find((operation) => lettersOf(operation) === lettersOf(name) && operation.startsWith(name.charAt(0)));
}

function lettersOf(name: string): string {
  return name.split('').toSorted().join('');
}
