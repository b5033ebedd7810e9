import type { JSX } from 'preact';
import { askForLogin } from './login-question.ts';
import { notice } from './notice.tsx';
import { logOut, nameOf, session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';

/** Says who is logged in, and lets them out, or in. */
export function AccountMenu(): JSX.Element {
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
  const role = person.claims['role'];
  return (
    <div class="account">
      <span class="who">
        <bdi>{nameOf(person) ?? ''}</bdi>
        {typeof role === 'string' && <span class="role">{role}</span>}
      </span>
      <button
        type="button"
        onClick={() => {
          logOut();
          notice.set(texts.loggedOut);
        }}
      >
        {texts.logOut}
      </button>
    </div>
  );
}
