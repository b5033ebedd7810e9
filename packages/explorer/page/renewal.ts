import { isOfSamePerson, logIn, logOut, renewToken, session } from './session.ts';
import { createStore } from './store.ts';

/** The word of another tab: a token that it has got, or the token that it has given up. */
interface Word {
  readonly token: string;
  readonly isLogout?: boolean;
}

const NAME = 'viewset.explorer';
/** The word of a tab may come a moment later than its lock is free, in milliseconds. */
const WORD_MS = 250;
/** A token is renewed so long before it expires, in seconds; one that does not live for ten times as long, a tenth of its life before. */
const AHEAD_SECONDS = 30;

/** The tabs that share a login. Undefined if the API does not renew tokens: each tab then has a login of its own. */
let channel: BroadcastChannel | undefined;
/** The last token that another tab has told of. */
const received = createStore<string | undefined>(undefined);
let renewal: Promise<string | undefined> | undefined;

/** Has this tab share its login with the other tabs, by an API that renews tokens. */
export function shareLogins(): void {
  if (channel !== undefined) return;
  channel = new BroadcastChannel(NAME);
  channel.addEventListener('message', ({ data }: MessageEvent<Word>) => follow(data));
}

/** Tells if the API renews tokens. */
export function isRenewable(): boolean {
  return channel !== undefined;
}

/** Tells the other tabs of a login or of a logout. */
export function publish(word: Word): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
  channel?.postMessage(word);
}

function follow({ token, isLogout = false }: Word): void {
  const current = session.get();
  if (isLogout) {
    if (current.token !== undefined && isOfSamePerson(current.token, token)) logOut();
    return;
  }
  received.set(token);
  // Whoever is at work in this tab as somebody else stays.
  if (current.token === undefined) logIn(token);
  else if (isOfSamePerson(current.token, token)) renewToken(token, current.turn);
}

/**
 * Gets another token: once for all requests that wait, and once for all tabs. Returns undefined if there is no login any more.
 *
 * @param ask asks the server for it
 */
export function renew(ask: () => Promise<string | undefined>): Promise<string | undefined> {
  renewal ??= renewInTurn(ask).finally(() => (renewal = undefined));
  return renewal;
}

async function renewInTurn(ask: () => Promise<string | undefined>): Promise<string | undefined> {
  const { locks } = navigator as { readonly locks?: LockManager };
  const askAndTell = async (): Promise<string | undefined> => {
    const token = await ask();
    if (token !== undefined) publish({ token });
    return token;
  };
  // Plain HTTP has no locks. The server gives tabs that ask at once the same.
  if (locks === undefined) return askAndTell();
  const before = received.get();
  const first = await locks.request(NAME, { ifAvailable: true }, async (lock) =>
    lock === null ? undefined : { token: await askAndTell() },
  );
  if (first !== undefined) return first.token;
  return locks.request(NAME, async () => (await receivedSince(before)) ?? askAndTell());
}

/** Waits a moment for the word of another tab. */
function receivedSince(before: string | undefined): Promise<string | undefined> {
  if (received.get() !== before) return Promise.resolve(received.get());
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const forget = received.subscribe(resolve);
  const timer = setTimeout(() => resolve(undefined), WORD_MS);
  return promise.finally(() => {
    forget();
    clearTimeout(timer);
  });
}

/** Tells if a token has expired or is about to, by the clock of this machine. */
export function isExpiring({ exp, iat }: Readonly<Record<string, unknown>>): boolean {
  if (typeof exp !== 'number') return false;
  const life = typeof iat === 'number' ? exp - iat : Infinity;
  return exp - Date.now() / 1000 < Math.min(AHEAD_SECONDS, life / 10);
}
