import { ImproperlyConfigured } from '../../errors/errors.ts';
import { nearest } from '../../errors/nearest.ts';
import { BOOLEAN, checkOptions, checkValues, FUNCTION } from '../../errors/options.ts';
import { RATE_LIMIT_RULES } from '../../throttle/rate-limit-rule.ts';
import { actionsOf } from './action.ts';
import { IDEMPOTENCY_RULE } from './idempotency.ts';
import { LIST_RULES } from './list-options.ts';
import { type Operation, OPERATIONS } from '../request/operation.ts';
import { DEFINE } from './view-definition.ts';
import { DOCUMENTATION_RULES, type ViewDocumentation } from './view-documentation.ts';
import { PERMISSIONS_RULE } from './view-permissions.ts';

/** A member that a class of the application declares. */
export interface DeclaredMember {
  readonly name: string;
  /** Undefined for a getter. */
  readonly value: unknown;
  readonly getter: (() => unknown) | undefined;
  /** True for a member of the class, false for a member of the view. */
  readonly isStatic: boolean;
}

/** The rules for the properties that a view class can declare. */
export const DECLARATIONS = {
  permissionClasses: PERMISSIONS_RULE,
  throttles: RATE_LIMIT_RULES,
  allowAnonymous: BOOLEAN,
  idempotency: IDEMPOTENCY_RULE,
  batchable: BOOLEAN,
  throttleRate: FUNCTION,
  ignoreUnknownParameters: LIST_RULES.ignoreUnknownParameters,
};

/** Names of members in other frameworks, spelled as by `spelledAlike`, with the equivalent here. */
const ELSEWHERE: Readonly<
  Record<string, { readonly hint: string; readonly ofRecords?: true } | { readonly operation: Operation }>
> = {
  // Django REST framework, for any view
  authenticationclasses: { hint: 'the application authenticates for all views, and "allowAnonymous" opens one' },
  getauthenticators: { hint: 'the application authenticates for all views, and "allowAnonymous" opens one' },
  getpermissions: {
    hint: '"permissionClasses" may have a list for each operation, and an action has "permissionClasses" of its own',
  },
  throttleclasses: { hint: 'rules are instances in "throttles"' },
  throttlescope: { hint: 'rules are instances in "throttles"' },
  getthrottles: { hint: 'rules are instances in "throttles"' },
  httpmethodnames: { hint: 'a view has the methods of its "operations" and actions' },
  partialupdate: { hint: 'update has PATCH as well as PUT' },
  // for a view of an entity
  responses: { hint: 'the options "read" and "envelope" say what is sent', ofRecords: true },
  queryset: { hint: 'getQueryset returns the records of a request', ofRecords: true },
  serializerclass: { hint: 'the options "read" and "write" are shapes', ofRecords: true },
  getserializer: {
    hint: 'the options "read" and "write" are shapes, and readShapeFor and writeShapeFor choose one for a request',
    ofRecords: true,
  },
  getserializerclass: {
    hint: 'the options "read" and "write" are shapes, and readShapeFor and writeShapeFor choose one for a request',
    ofRecords: true,
  },
  torepresentation: {
    hint: 'the option "read" says what is sent, and represent makes it of an entity',
    ofRecords: true,
  },
  paginationclass: { hint: 'it is the option "pagination"', ofRecords: true },
  paginatequeryset: { hint: 'paginate answers with a page', ofRecords: true },
  filterbackends: { hint: 'they are the option "filters"', ofRecords: true },
  filtersetclass: { hint: 'parameters are declared by the option "filterFields"', ofRecords: true },
  filtersetfields: { hint: 'parameters are declared by the option "filterFields"', ofRecords: true },
  // NestJS, and other HTTP servers
  findall: { operation: 'list' },
  getall: { operation: 'list' },
  findone: { operation: 'retrieve' },
  getone: { operation: 'retrieve' },
  patch: { operation: 'update' },
  put: { operation: 'update' },
  remove: { operation: 'destroy' },
  delete: { operation: 'destroy' },
};

/** Shorter hook names are too similar to unrelated words. */
const LEAST_LENGTH = 6;
const LONG_LENGTH = 10;

/** The static members that every class has. */
const OF_CLASSES: ReadonlySet<string> = new Set(['length', 'name', 'prototype']);

/** Removes the differences between `search_fields` and `searchFields`. */
export function spelledAlike(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/**
 * Lists the members that the application declares: properties of the view, methods of its classes, and static members.
 */
export function declaredMembers(view: object): readonly DeclaredMember[] {
  const members: DeclaredMember[] = [];
  const add = (owner: object, isStatic: boolean): void => {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (name === 'constructor' || (isStatic && OF_CLASSES.has(name))) continue;
      // oxlint-disable-next-line typescript/unbound-method -- only its source text is read
      members.push({ name, value: descriptor.value as unknown, getter: descriptor.get, isStatic });
    }
  };
  add(view, false);
  let level = Object.getPrototypeOf(view) as object;
  for (; !Object.hasOwn(level, DEFINE); level = Object.getPrototypeOf(level) as object) {
    add(level, false);
    add(level.constructor, true);
  }
  return members;
}

/** A view before its declarations are checked. */
interface ClassedView {
  readonly name: string;
  readonly documentation: ViewDocumentation;
}

/**
 * Rejects class members that nothing reads: wrong values, misspelt names, and names from other frameworks. The author
 * may rely on them to protect something.
 *
 * @param hasRecords true for a view of an entity
 * @throws ImproperlyConfigured with the correct name or a hint
 */
export function checkMembers(view: ClassedView, hasRecords: boolean): void {
  checkValues(view.name, view as object, DECLARATIONS);
  const members = declaredMembers(view);
  for (const name of Object.keys(view)) checkProperty(view, name);
  const misplaced = members.find(({ name, isStatic }) => isStatic && name in DECLARATIONS);
  if (misplaced !== undefined) {
    throw new ImproperlyConfigured(
      `${view.name}: nothing reads the static "${misplaced.name}"; it belongs to each view, without "static"`,
    );
  }
  checkMethods(view);
  checkOptions(`${view.name}.documentation`, view.documentation, DOCUMENTATION_RULES);
  const actions = actionsOf(view);
  for (const { name, value } of members) {
    const spelled = spelledAlike(name);
    const habit = Object.hasOwn(ELSEWHERE, spelled) ? ELSEWHERE[spelled]! : undefined;
    if (habit === undefined || 'operation' in habit || actions.has(name)) continue;
    // A view may have a method of this name. Elsewhere it is a property.
    const isQuerysetMethod = spelled === 'queryset' && typeof value === 'function';
    if (isQuerysetMethod || (habit.ofRecords === true && !hasRecords)) continue;
    throw new ImproperlyConfigured(`${view.name}: nothing reads "${name}"; ${habit.hint}`);
  }
}

/**
 * Rejects a property whose name is a misspelt declaration, such as `permissionClases`: the view would be unprotected.
 * Other properties are allowed.
 */
function checkProperty(view: ClassedView, name: string): void {
  if (name in DECLARATIONS || typeof (view as unknown as Record<string, unknown>)[name] === 'function') return;
  const meant = nearest(name, ['permissionClasses']) ?? nearest(name, Object.keys(DECLARATIONS), slips(name));
  if (meant === undefined) return;
  throw new ImproperlyConfigured(`${view.name}: "${name}" is never read; did you mean "${meant}"?`);
}

/**
 * Rejects a method whose name is a misspelt hook, because nothing would call it.
 *
 * - A name is misspelt if it differs from a hook by one letter, or by two if it has ten or more letters. Hooks that the
 *   view overrides do not count.
 * - A name that starts with the whole hook name (`getObjects`) or with another letter (`setObject`) is allowed.
 * - For an operation that the view lacks, its letters in another order (`lits`) and its names in other frameworks
 *   (`findAll`) are rejected too.
 */
function checkMethods(view: ClassedView): void {
  const declaredNames: string[] = Object.keys(view).filter(
    (name) => typeof (view as unknown as Record<string, unknown>)[name] === 'function',
  );
  const hooks = new Set<string>(OPERATIONS);
  for (let level = view as object; level !== Object.prototype; level = Object.getPrototypeOf(level) as object) {
    if (level === view) continue;
    const names = Object.getOwnPropertyNames(level).filter((name) => name !== 'constructor');
    if (!Object.hasOwn(level, DEFINE)) declaredNames.push(...names);
    else for (const name of names) hooks.add(name);
  }
  const free = [...hooks].filter((hook) => !declaredNames.includes(hook));
  const lacking = free.filter((hook) => !(hook in view));
  const long = free.filter((hook) => hook.length >= LEAST_LENGTH);
  for (const name of declaredNames) {
    if (hooks.has(name)) continue;
    const alike = long.filter((hook) => hook.startsWith(name.charAt(0)));
    const meant = operationMeant(name, lacking) ?? nearest(name, alike, slips(name));
    const goesOn = meant !== undefined && name.length > meant.length && name.startsWith(meant);
    if (meant === undefined || goesOn) continue;
    throw new ImproperlyConfigured(`${view.name}: "${name}" is never called; did you mean "${meant}"?`);
  }
}

/** The number of letters that may differ. */
function slips(name: string): number {
  return name.length < LONG_LENGTH ? 1 : 2;
}

/**
 * Returns the missing operation that a method name means: its name in other frameworks, or its letters in another
 * order.
 */
function operationMeant(name: string, free: readonly string[]): string | undefined {
  const spelled = spelledAlike(name);
  const habit = Object.hasOwn(ELSEWHERE, spelled) ? ELSEWHERE[spelled]! : undefined;
  if (habit !== undefined && 'operation' in habit) return free.includes(habit.operation) ? habit.operation : undefined;
  return free.find((operation) => lettersOf(operation) === lettersOf(name) && operation.startsWith(name.charAt(0)));
}

function lettersOf(name: string): string {
  return name.split('').toSorted().join('');
}
