import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { AccountForm } from './account-form.tsx';
import { type AccountPageName, accountPages } from './account-operations.ts';
import { ApiKeysPage } from './api-keys-page.tsx';
import { accountHref, type Api } from './api-model.ts';
import { refresh } from './exchanges.ts';
import { notice } from './notice.tsx';
import { PasskeysPage } from './passkeys-page.tsx';
import { ProfilePage } from './profile-page.tsx';
import { isRenewable } from './renewal.ts';
import { renewToken, session } from './session.ts';
import { SessionsPage } from './sessions-page.tsx';
import { NotOffered } from './states.tsx';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { TwoFactorPage } from './two-factor-page.tsx';

/** One's own account: a page for each thing that the API lets people do with theirs. */
export function AccountPage({ api, page }: { readonly api: Api; readonly page: AccountPageName }): JSX.Element {
  const { token, hasEnded, turn } = useStore(session);
  return (
    <>
      <div class="heading">
        <h1>{texts.account}</h1>
      </div>
      {token === undefined && !hasEnded ? (
        <NotOffered title={texts.accountPages[page]} />
      ) : (
        <div class="account-page">
          <nav class="tabs" aria-label={texts.account}>
            {accountPages(api.account).map((each) => (
              <a key={each} href={accountHref(api, each)} aria-current={each === page ? 'page' : undefined}>
                {texts.accountPages[each]}
              </a>
            ))}
          </nav>
          <section key={`${turn} ${page}`} aria-labelledby="account-title">
            <h2 id="account-title">{texts.accountPages[page]}</h2>
            <Page api={api} page={page} />
          </section>
        </div>
      )}
    </>
  );
}

function Page({ api, page }: { readonly api: Api; readonly page: AccountPageName }): JSX.Element {
  switch (page) {
    case 'profile':
      return <ProfilePage api={api} />;
    case 'password':
      return <PasswordPage api={api} />;
    case 'email':
      return <EmailPage api={api} />;
    case 'sessions':
      return <SessionsPage api={api} />;
    case 'two-factor':
      return <TwoFactorPage api={api} />;
    case 'passkeys':
      return <PasskeysPage api={api} />;
    case 'api-keys':
      return <ApiKeysPage api={api} />;
  }
}

function PasswordPage({ api }: { readonly api: Api }): JSX.Element {
  const { changePassword, listSessions } = api.account;
  return (
    <AccountForm
      api={api}
      operation={changePassword!}
      submitLabel={texts.changePassword}
      onDone={() => notice.set(texts.passwordChanged)}
    >
      {listSessions !== undefined && <p class="lead">{texts.changePasswordHint}</p>}
    </AccountForm>
  );
}

/** Asks for a new address, and then for the code that was sent to it. */
function EmailPage({ api }: { readonly api: Api }): JSX.Element {
  const [requested, setRequested] = useState<string>();
  const { changeEmail, confirmEmail } = api.account;
  const { claims } = useStore(session);
  if (requested === undefined || confirmEmail === undefined) {
    return (
      <AccountForm
        key="ask"
        api={api}
        operation={changeEmail!}
        submitLabel={texts.sendCode}
        onDone={(values) => setRequested(String(values['new_email']))}
      >
        <p class="lead">
          {typeof claims['email'] === 'string' && <bdi>{texts.currentEmail(claims['email'])} </bdi>}
          {texts.changeEmailHint}
        </p>
      </AccountForm>
    );
  }
  return (
    <AccountForm
      key="confirm"
      api={api}
      operation={confirmEmail}
      submitLabel={texts.confirmEmail}
      onCancel={() => setRequested(undefined)}
      onDone={() => {
        setRequested(undefined);
        notice.set(texts.emailChanged);
        void renewClaims();
      }}
    >
      <p class="lead">{texts.emailCodeHint(requested)}</p>
    </AccountForm>
  );
}

/** Gets a token that says what is new about the person, if the API has a way to. */
async function renewClaims(): Promise<void> {
  const { turn } = session.get();
  if (!isRenewable()) return;
  const token = await refresh().catch(() => undefined);
  if (token !== undefined) renewToken(token, turn);
}
