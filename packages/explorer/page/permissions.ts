import type { Operation } from './api-model.ts';
import { hasClaims, isRefused, type Session } from './session.ts';

/** An answer that the page may not know: what a class of the application decides, only the server knows. */
type Perhaps = boolean | undefined;

/**
 * Tells if an operation is worth offering at a path: false if it is certain that the API would refuse it. The document names the
 * permission classes of each operation; those of the library are decided here, all others are the server's secret.
 */
export function isOffered(
  operation: Operation | undefined,
  session: Session,
  path = operation?.path ?? '',
): operation is Operation {
  if (operation === undefined || isRefused(session, operation.id, path)) return false;
  if (operation.needsToken && session.token === undefined) return false;
  return operation.permissions.every((name) => judge(name, operation, session) !== false);
}

/** Tells if nothing but a login keeps the operation from being offered. */
export function isOfferedAfterLogin(operation: Operation | undefined, session: Session): operation is Operation {
  return operation !== undefined && session.token === undefined && !isOffered(operation, session);
}

/** Reads the name of a class or a composition, `(IsSafeMethodOnly or (IsOwner and IsAuthenticated))`. */
function judge(name: string, operation: Operation, session: Session): Perhaps {
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
