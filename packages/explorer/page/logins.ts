import type { Api, Operation } from './api-model.ts';
import { Refusal, refresh, refreshBy, send } from './exchanges.ts';
import { notice } from './notice.tsx';
import { isRenewable, shareLogins, publish } from './renewal.ts';
import { logIn, logOut, session } from './session.ts';
import { texts } from '../src/texts.ts';

/**
 * Has the page renew its tokens, if the API does that, and takes up the login that the browser still has. Resolves as well if there is none,
 * or if the server is silent.
 */
export async function takeUpLogin({ account }: Api): Promise<void> {
  if (account.refresh === undefined) return;
  refreshBy(account.refresh);
  shareLogins();
  if (session.get().token !== undefined) return;
  const token = await refresh().catch(() => undefined);
  if (token !== undefined && session.get().token === undefined) logIn(token);
}

/** Begins a session with the answer of a login, here and in the other tabs. Throws Refusal if it has no token. */
export function beginSession(body: unknown): void {
  const { access_token: accessToken, token = accessToken } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof token !== 'string') throw new Refusal(200, 'no_token', texts.tokenMissing);
  logIn(token);
  if (isRenewable()) publish({ token });
}

/** Ends the session of this device; with `operation` `logoutAll` those of all devices. */
export async function endSession(operation: Operation | undefined, said: string): Promise<void> {
  const { token } = session.get();
  const ended = operation === undefined ? Promise.resolve() : send({ operation, url: operation.path });
  // Nothing of the person is shown any longer, however slow the server is.
  leave(token, said);
  try {
    await ended;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // A token that has ended by now is no session any more.
    if (error.status !== 401) notice.set(texts.logoutFailed);
  }
}

/** Forgets the login, here and in the other tabs, when the server has ended it. */
export function leave(token: string | undefined, said: string): void {
  logOut();
  if (token !== undefined && isRenewable()) publish({ token, isLogout: true });
  notice.set(said);
}
