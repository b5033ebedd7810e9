import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Api } from './api-model.ts';
import { useDraft } from './drafts.ts';
import { Refusal, send } from './exchanges.ts';
import { SchemaForm } from './schema-form.tsx';
import { loginQuestion } from './login-question.ts';
import { logIn } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';

/** Asks for what the API's own login wants, or for a token if the API has no login that the document names. */
export function LoginDialog({ api }: { readonly api: Api }): JSX.Element {
  const question = useStore(loginQuestion);
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = useRef(question);
  useEffect(() => {
    if (question === undefined) dialog.current?.close();
    else if (dialog.current?.open === false) dialog.current.showModal();
    shown.current = question;
  }, [question]);
  // The event comes later than the dialog closes: whoever is quick has asked again by then, and that question stays.
  const settle = (): void => {
    if (dialog.current?.open !== true && loginQuestion.get() === shown.current) loginQuestion.set(undefined);
  };
  return (
    <dialog ref={dialog} class="login" aria-labelledby="login-title" onClose={settle}>
      {question !== undefined && (
        <>
          <h2 id="login-title">{texts.logIn}</h2>
          {api.login === undefined ? <TokenForm /> : <LoginForm api={api} />}
          <button type="button" class="plain" onClick={() => loginQuestion.set(undefined)}>
            {texts.cancel}
          </button>
        </>
      )}
    </dialog>
  );
}

function LoginForm({ api }: { readonly api: Api }): JSX.Element {
  const login = api.login!;
  const draft = useDraft(undefined, undefined);
  return (
    <SchemaForm
      api={api}
      schema={login.body!.schema}
      purpose="login"
      draft={draft}
      submitLabel={texts.logIn}
      onSubmit={async (body) => {
        const question = loginQuestion.get();
        const answer = await send({ operation: login, url: login.path, body });
        const token = (answer.body as { access_token?: unknown } | undefined)?.access_token;
        // Whoever has given it up meanwhile is not logged in.
        if (loginQuestion.get() !== question) return;
        if (typeof token !== 'string') throw new Refusal(200, 'no_token', texts.tokenMissing);
        logIn(token);
        loginQuestion.set(undefined);
      }}
    >
      <p class="hint">{texts.loginHint}</p>
    </SchemaForm>
  );
}

function TokenForm(): JSX.Element {
  const [token, setToken] = useState('');
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() === '') return;
        logIn(token.trim());
        loginQuestion.set(undefined);
      }}
    >
      <p class="hint">{texts.tokenHint}</p>
      <div class="field">
        <label for="login-token">{texts.token}</label>
        <input
          id="login-token"
          type="password"
          autocomplete="off"
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
      </div>
      <div class="buttons">
        <button class="primary">{texts.logIn}</button>
      </div>
    </form>
  );
}
