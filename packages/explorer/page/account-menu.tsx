import type { JSX } from 'preact';
import { accountPages } from './account-operations.ts';
import { accountHref, type Api } from './api-model.ts';
import { askForLogin } from './login-question.ts';
import { endSession } from './logins.ts';
import { nameOf, session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';

/** Says who is logged in, leads to their account, and lets them out, or in. */
export function AccountMenu({ api }: { readonly api: Api }): JSX.Element {
  const person = useStore(session);
  if (person.token === undefined) {
    return (
      <div class="account">
        <button type="button" onClick={() => askForLogin()}>
          {texts.logIn}
        </button>
      </div>
    );
  }
  const [page] = accountPages(api.account);
  const role = person.claims['role'];
  const name = (
    <>
      <bdi>{nameOf(person) ?? texts.account}</bdi>
      {typeof role === 'string' && <span class="role">{role}</span>}
    </>
  );
  return (
    <div class="account">
      {page === undefined ? (
        <span class="who">{name}</span>
      ) : (
        <a class="who" href={accountHref(api, page)} title={texts.account}>
          {name}
        </a>
      )}
      <button type="button" onClick={() => void endSession(api.account.logout, texts.loggedOut)}>
        {texts.logOut}
      </button>
    </div>
  );
}
