import { createStore } from './store.ts';

const KEY = 'viewset.explorer.token';

/** The person at the page, as far as the token says. */
export interface Session {
  /** Undefined if nobody is logged in. */
  readonly token: string | undefined;
  /** True if a login has ended by itself, and nobody has logged in or out since. */
  readonly hasEnded: boolean;
  /** Another one after each login and each logout, but not after a login that has ended by itself. */
  readonly turn: number;
  /** The claims of the token; empty if it is none that can be read. Those of a login that has ended stay until the next. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** The operations that the API has refused this person, each with the path where it did. */
  readonly refused: ReadonlySet<string>;
  /** The API's word on one place; undefined until the first has come. */
  readonly permitted: Permitted | undefined;
}

/** What the API lets the person do at a place and directly below it, as it tells by OPTIONS. */
export interface Permitted {
  readonly path: string;
  /** The ids of the operations; undefined if the API does not tell. */
  readonly operations: ReadonlySet<string> | undefined;
  /** The names of the shapes of bodies, by the ids of operations. */
  readonly shapes: ReadonlyMap<string, string>;
}

/** The session of this tab: a reload keeps the login, the end of the tab ends it. */
export const session = createStore<Session>(sessionOf(sessionStorage.getItem(KEY) ?? undefined, 0));

const forgetful = new Set<() => void>();

/** Has something forgotten as soon as the page is no longer the same person's: after a logout, and after the login of another one. */
export function forgetWithPerson(forget: () => void): void {
  forgetful.add(forget);
}

/**
 * Begins a session. Whoever was nobody yet goes on, and so does whoever comes back after a login that has ended, if the tokens tell that
 * it is the same person.
 */
export function logIn(token: string): void {
  const before = session.get();
  const next = sessionOf(token, before.turn + 1);
  const wasSomebody = before.token !== undefined || before.hasEnded;
  if (wasSomebody && !isSamePerson(before, next)) forgetAll();
  sessionStorage.setItem(KEY, token);
  session.set(next);
}

/** Puts a token in the place of an older one of the same person, unless somebody has logged in or out since that turn. */
export function renewToken(token: string, turn: number): void {
  const current = session.get();
  if (current.turn !== turn) return;
  sessionStorage.setItem(KEY, token);
  session.set({ ...current, token, claims: claimsOf(token), hasEnded: false });
}

/** Ends the session, and forgets what was entered and asked in it. */
export function logOut(): void {
  sessionStorage.removeItem(KEY);
  forgetAll();
  session.set(sessionOf(undefined, session.get().turn + 1));
}

function forgetAll(): void {
  for (const forget of forgetful) forget();
}

/** Forgets a token that is none any more. What the page shows stays: somebody may be in the middle of a form. */
export function endLogin(): void {
  sessionStorage.removeItem(KEY);
  session.set({ ...session.get(), token: undefined, hasEnded: true });
}

/** Tells if two tokens say that they are of one person. Two that do not say it are of two persons. */
function isSamePerson(one: Pick<Session, 'claims'>, other: Pick<Session, 'claims'>): boolean {
  const identity = identityOf(one);
  return identity !== undefined && identity === identityOf(other);
}

/** Tells if two tokens are of one person, as far as they say. */
export function isOfSamePerson(token: string, other: string): boolean {
  return isSamePerson({ claims: claimsOf(token) }, { claims: claimsOf(other) });
}

/** Names a person as the claims that tell people apart do; undefined if there are none. */
function identityOf({ claims }: Pick<Session, 'claims'>): string | undefined {
  const claim = ['user_id', 'sub', 'email', 'username'].find((name) => claims[name] !== undefined);
  return claim === undefined ? undefined : JSON.stringify([claims['iss'], claim, claims[claim]]);
}

/** Remembers that the API has refused an operation at a path, so that it is not offered there again. */
export function rememberRefusal(operationId: string, path: string): void {
  const { refused, ...rest } = session.get();
  session.set({ ...rest, refused: new Set([...refused, `${operationId} ${path}`]) });
}

/** Remembers what the API permits at a place. */
export function rememberPermitted(permitted: Permitted): void {
  session.set({ ...session.get(), permitted });
}

/** Tells if the API has refused an operation at a path. */
export function isRefused({ refused }: Session, operationId: string, path: string): boolean {
  return refused.has(`${operationId} ${path}`);
}

/** Tells if the token says something under a name. */
export function hasClaims({ claims }: Session, name: string): boolean {
  return Object.hasOwn(claims, name);
}

/** Returns the words for the person who is logged in. */
export function nameOf({ claims }: Session): string | undefined {
  const named = ['email', 'username', 'name', 'user_id', 'sub'].map((name) => claims[name]);
  const found = named.find((value) => typeof value === 'string' || typeof value === 'number');
  return found === undefined ? undefined : String(found);
}

function sessionOf(token: string | undefined, turn: number): Session {
  const claims = token === undefined ? {} : claimsOf(token);
  return { token, hasEnded: false, turn, claims, refused: new Set(), permitted: undefined };
}

/** Reads the payload of a JWT, only to show it: the server alone checks it. */
function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(payload), (character) => character.codePointAt(0)!);
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
