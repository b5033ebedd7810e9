import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { isYes } from '../awaitable.ts';
import { permissionDenied } from '../current-user.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { nearest } from '../nearest.ts';
import { operationMeant } from './habits.ts';
import { ownMembers } from './own-members.ts';
import {
  BOOLEAN,
  checkOptions,
  checkValues,
  FUNCTION,
  LIST,
  NAMES,
  type OptionRule,
  TEXT,
  TEXTS,
  TEXTS_BY_NAME,
} from '../options.ts';
import type { PermissionClass, PermissionView } from '../permissions/permission.ts';
import { RATE_LIMIT_RULES, type RateLimitRule } from '../throttle/rate-limit-rule.ts';
import { LIST_RULES } from './list-options.ts';
import { stateOf } from './request-state.ts';
import type { Examples, Words } from './action.ts';
import { DEFINE, type Operation, OPERATIONS, type ViewContext, type ViewDefinition } from './view-definition.ts';

/** The words about a view, for documents. */
export interface ViewDocumentation {
  /** The subject of the view: the description of its tag. */
  readonly description?: string | undefined;
  /** The groups that its operations stand in. Default: the first half of its routes' names. */
  readonly tags?: readonly string[] | undefined;
  /** True: clients should no longer use it. */
  readonly deprecated?: boolean | undefined;
  /** One line on an operation. Default: made of its name. */
  readonly summaries?: Readonly<Partial<Record<Operation, string>>> | undefined;
  /** More about an operation than one line. Default: none. */
  readonly descriptions?: Readonly<Partial<Record<Operation, string>>> | undefined;
  /** Examples of an operation's body and answers. */
  readonly examples?: Readonly<Partial<Record<Operation, Examples>>> | undefined;
  /** The words about the fields of records, by name. */
  readonly fieldWords?: Readonly<Record<string, Words>> | undefined;
  /** The words about query parameters, by name, in the place of those that filters and paginators have. */
  readonly parameterWords?: Readonly<Record<string, Words>> | undefined;
}

/** Handles one operation of a view. */
export type OperationHandler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/**
 * A group of routes under one name. Define any of `list`, `create`, `retrieve`, `update` (PUT and PATCH) and `destroy`,
 * and any number of `action()`s; each gets its route, behind the view's permissions and throttles.
 *
 * One instance serves every request: keep nothing about a request on `this`.
 *
 * @example
 * class StatusViewSet extends ViewSet {
 *   override permissionClasses = [IsAuthenticated];
 *   override list() { return { uptime: process.uptime() }; }   // GET /api/status
 * }
 */
export abstract class ViewSet implements PermissionView {
  /** Who may use the view; every class must agree. Default: what the plugin's `permissionClasses` says. */
  permissionClasses: readonly PermissionClass[] | undefined = undefined;
  /** Rules that count requests to this view, beside the application's. */
  throttles: readonly RateLimitRule[] = [];
  /** Query parameters to let pass though nothing declares them: all of them, or these. Default: the plugin's. */
  ignoreUnknownParameters: boolean | readonly string[] | undefined = undefined;

  /** True: the view's routes need no token. Default: true if AllowAny is the only class of `permissionClasses`. */
  allowAnonymous: boolean | undefined = undefined;
  /** The view in documents. */
  documentation: ViewDocumentation = {};

  list?(request: FastifyRequest, reply: FastifyReply): unknown;
  create?(request: FastifyRequest, reply: FastifyReply): unknown;
  retrieve?(request: FastifyRequest, reply: FastifyReply): unknown;
  update?(request: FastifyRequest, reply: FastifyReply): unknown;
  destroy?(request: FastifyRequest, reply: FastifyReply): unknown;

  /** The name that errors and logs use: the class's. */
  get name(): string {
    return this.constructor.name;
  }

  /** The operation or action that a request asks for: `list`, `retrieve`, `featured`, … */
  getAction(request: FastifyRequest): string {
    return request.routeOptions.config.viewset?.action ?? '';
  }

  /**
   * Asked after the declared throttles, on every request; false answers 429. Override it for a rule that depends on
   * more than a rule's key can say. Default: true.
   */
  throttleRate(_request: FastifyRequest): boolean | Promise<boolean> {
    return true;
  }

  /** The view's entity; undefined if the view has none. */
  get meta(): EntityMetadata | undefined {
    return undefined;
  }

  /** @internal */
  [DEFINE](_context: ViewContext): ViewDefinition {
    return {
      operations: OPERATIONS.filter((name) => typeof this[name] === 'function'),
      key: { schema: Type.String(), parse: (text) => (text === '' ? undefined : text) },
      schemasOf: () => ({}),
    };
  }

  /**
   * Asks the object half of the view's permissions. Call it for every record that a plain ViewSet's handler touches;
   * a ModelViewSet's `getObject` has done it already. Throws Unauthorized or Forbidden.
   */
  async checkObjectPermissions(request: FastifyRequest, object: object): Promise<void> {
    const { grant } = stateOf(request);
    if (grant !== undefined && !isYes(await grant.allows(object))) throw permissionDenied(request);
  }
}

/** Refuses declarations of a wrong kind, of any view. */
export function checkDeclarations(view: ViewSet): void {
  checkValues(view.name, view, DECLARATIONS);
  for (const name of Object.keys(view)) {
    if (name in DECLARATIONS || typeof view[name as keyof ViewSet] === 'function') continue;
    // A view may have properties of its own, but none that looks like its guard and guards nothing.
    const meant = nearest(name, ['permissionClasses']) ?? nearest(name, Object.keys(DECLARATIONS), slips(name));
    if (meant === undefined) continue;
    throw new ImproperlyConfigured(`${view.name}: "${name}" is never read; did you mean "${meant}"?`);
  }
  const misplaced = ownMembers(view).find(({ name, isStatic }) => isStatic && name in DECLARATIONS);
  if (misplaced !== undefined) {
    throw new ImproperlyConfigured(
      `${view.name}: nothing reads the static "${misplaced.name}"; it belongs to each view, without "static"`,
    );
  }
  checkMethods(view);
  checkOptions(`${view.name}.documentation`, view.documentation, DOCUMENTATION_RULES);
}

/**
 * Refuses a method that is a misspelt hook: nothing would call it. A view may have methods of its own, so it is only one that a
 * single letter keeps from a hook that the view does not override, or two of a name of ten or more. One that goes on after
 * the hook's name (`getObjects`), or begins with another letter (`setObject`), is a name of its own. An operation that a plain view lacks is
 * also meant by its letters in another order (`lits`), and by its names elsewhere (`findAll`).
 */
function checkMethods(view: ViewSet): void {
  const own: string[] = Object.keys(view).filter((name) => typeof view[name as keyof ViewSet] === 'function');
  const hooks = new Set<string>(OPERATIONS);
  for (let level = view as object; level !== Object.prototype; level = Object.getPrototypeOf(level) as object) {
    if (level === view) continue;
    const names = Object.getOwnPropertyNames(level).filter((name) => name !== 'constructor');
    if (!Object.hasOwn(level, DEFINE)) own.push(...names);
    else for (const name of names) hooks.add(name);
  }
  const free = [...hooks].filter((hook) => !own.includes(hook));
  const lacking = free.filter((hook) => !(hook in view));
  const long = free.filter((hook) => hook.length >= LEAST_LENGTH);
  for (const name of own) {
    if (hooks.has(name)) continue;
    const alike = long.filter((hook) => hook.startsWith(name.charAt(0)));
    const meant = operationMeant(name, lacking) ?? nearest(name, alike, slips(name));
    const goesOn = meant !== undefined && name.length > meant.length && name.startsWith(meant);
    if (meant === undefined || goesOn) continue;
    throw new ImproperlyConfigured(`${view.name}: "${name}" is never called; did you mean "${meant}"?`);
  }
}

/** Shorter names are too near to words that mean something else. */
const LEAST_LENGTH = 6;
const LONG_LENGTH = 10;

/** The letters of a name that may be wrong. */
function slips(name: string): number {
  return name.length < LONG_LENGTH ? 1 : 2;
}

/** The rules of what a class declares by properties of its own. */
export const DECLARATIONS = {
  permissionClasses: LIST,
  throttles: RATE_LIMIT_RULES,
  allowAnonymous: BOOLEAN,
  throttleRate: FUNCTION,
  ignoreUnknownParameters: LIST_RULES.ignoreUnknownParameters,
};
export const DOCUMENTATION_RULES: Readonly<Record<keyof ViewDocumentation, OptionRule>> = {
  description: TEXT,
  tags: TEXTS,
  deprecated: BOOLEAN,
  summaries: TEXTS_BY_NAME,
  descriptions: TEXTS_BY_NAME,
  examples: NAMES,
  fieldWords: NAMES,
  parameterWords: NAMES,
};
