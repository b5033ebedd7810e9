import { fillPath, type Operation, pathOfPlace, type Resource } from './api-model.ts';
import { here } from './location.ts';
import { hasClaims, isRefused, type Session } from './session.ts';

/** An answer that the document may not have: what a class of the application decides, only the server knows. */
type Perhaps = boolean | undefined;

/**
 * Tells if an operation is offered at a path. The API says by OPTIONS what it permits at the place of the page; until it has, and
 * wherever it does not, only what is certain by the document is decided.
 */
export function isOffered(
  operation: Operation | undefined,
  session: Session,
  path = operation?.path ?? '',
): operation is Operation {
  return offer(operation, session, path) === 'yes';
}

/** Returns a resource at a place with the bodies that the person may send there, of the shapes that the API has told. */
export function shapedFor(resource: Resource, { permitted }: Session, path: string): Resource {
  const shaped = (operation: Operation | undefined): Operation | undefined => {
    const name = permitted?.path === path ? permitted.shapes.get(operation?.id ?? '') : undefined;
    const schema = name === undefined ? undefined : operation?.body?.shapes?.get(name);
    return schema === undefined ? operation : { ...operation!, body: { ...operation!.body!, schema } };
  };
  const { create, update, updateMany } = resource;
  return { ...resource, create: shaped(create), update: shaped(update), updateMany: shaped(updateMany) };
}

/** Tells if it is not known yet whether an operation is offered. */
export function isUndecided(operation: Operation | undefined, session: Session, path?: string): boolean {
  return offer(operation, session, path) === 'undecided';
}

/** Tells if an operation is refused to somebody who is logged in. */
export function isForbidden(operation: Operation | undefined, session: Session): boolean {
  return session.token !== undefined && offer(operation, session) === 'no';
}

/** Tells if nothing but a login keeps the operation from being offered. */
export function isOfferedAfterLogin(operation: Operation | undefined, session: Session): operation is Operation {
  return operation !== undefined && session.token === undefined && offer(operation, session) === 'no';
}

function offer(
  operation: Operation | undefined,
  session: Session,
  path = operation?.path ?? '',
): 'yes' | 'no' | 'undecided' {
  if (operation === undefined || isRefused(session, operation.id, path)) return 'no';
  const place = pathOfPlace(here.get().pathname);
  const isOfPlace = belongsTo(operation, place);
  const isStated = isOfPlace && session.permitted?.path === place;
  if (isStated && session.permitted?.operations !== undefined) {
    return session.permitted.operations.has(operation.id) ? 'yes' : 'no';
  }
  if (operation.needsToken && session.token === undefined) return 'no';
  const results = new Set(operation.permissions.map((name) => mayPass(name, operation, session)));
  if (results.has(false)) return 'no';
  // Of a record that the page does not show, such as a selected row, nobody has asked: its own page tells.
  const isOfOther = fillPath(operation.path, place).includes('{');
  const isUnstated = isOfPlace && !isStated;
  // Nor is it known which form to show.
  if (isUnstated && operation.body?.shapes !== undefined) return 'undecided';
  return results.has(undefined) && (isOfOther || isUnstated) ? 'undecided' : 'yes';
}

/** Tells if an operation stands at a place, or below it without naming a further record. */
function belongsTo(operation: Operation, place: string): boolean {
  const filled = fillPath(operation.path, place);
  return !filled.includes('{') && (filled === place || filled.startsWith(`${place}/`));
}

/** Reads the name of a class or a composition, `(IsSafeMethodOnly or (IsOwner and IsAuthenticated))`. */
function mayPass(name: string, operation: Operation, session: Session): Perhaps {
  const tokens = name.match(/[()]|[^\s()]+(?:\([^()]*\))?/g) ?? [];
  let place = 0;
  const term = (): Perhaps => {
    const token = tokens[place++];
    if (token !== '(') return token === undefined ? undefined : single(token, operation, session);
    if (tokens[place] === 'not') {
      place++;
      const only = term();
      place++;
      return only === undefined ? undefined : !only;
    }
    const left = term();
    const operator = tokens[place++];
    const right = term();
    place++;
    return operator === 'or' ? either(left, right) : both(left, right);
  };
  const answer = term();
  return place === tokens.length ? answer : undefined;
}

function either(left: Perhaps, right: Perhaps): Perhaps {
  if (left === true || right === true) return true;
  return left === undefined || right === undefined ? undefined : false;
}

function both(left: Perhaps, right: Perhaps): Perhaps {
  if (left === false || right === false) return false;
  return left === undefined || right === undefined ? undefined : true;
}

function single(name: string, { method }: Operation, session: Session): Perhaps {
  if (name === 'AllowAny') return true;
  if (name === 'IsSafeMethodOnly') return method === 'GET';
  if (name === 'IsAuthenticated') return session.token !== undefined;
  const role = name === 'IsRoleAdminUser' ? 'admin' : /^IsRoleAdminUser\((.*)\)$/.exec(name)?.[1];
  if (role === undefined) return undefined;
  if (session.token === undefined) return false;
  return hasClaims(session, 'role') ? session.claims['role'] === role : undefined;
}
