import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { AccountForm } from './account-form.tsx';
import type { Api } from './api-model.ts';
import { Refusal, send } from './exchanges.ts';
import { notice } from './notice.tsx';
import { QrCode } from './qr-code.tsx';
import { isRow, textOf } from './records.ts';
import { Secret } from './secret.tsx';
import { Problem } from './states.tsx';
import { texts } from '../src/texts.ts';

/** What is shown of switching two steps on: the secret for the app, or the recovery codes, which are shown once. */
type Shown =
  | { readonly name: 'secret'; readonly secret: string; readonly uri: string }
  | { readonly name: 'codes'; readonly codes: readonly string[] };

/** Logins in two steps: switches them on, by an app, and off. */
export function TwoFactorPage({ api }: { readonly api: Api }): JSX.Element {
  const { beginTwoFactor: begin, confirmTwoFactor: confirm, destroyTwoFactor: destroy } = api.account;
  const [shown, setShown] = useState<Shown>();
  const [refusal, setRefusal] = useState<Refusal>();
  const start = async (): Promise<void> => {
    setRefusal(undefined);
    try {
      const { body } = await send({ operation: begin!, url: begin!.path });
      if (isRow(body)) setShown({ name: 'secret', secret: textOf(body['secret']), uri: textOf(body['uri']) });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
    }
  };
  if (shown?.name === 'codes') return <RecoveryCodes codes={shown.codes} />;
  if (shown?.name === 'secret' && confirm !== undefined) {
    return (
      <AccountForm
        api={api}
        operation={confirm}
        submitLabel={texts.confirmTwoFactor}
        onDone={(_values, { body }) => {
          const codes = isRow(body) && Array.isArray(body['recovery_codes']) ? body['recovery_codes'].map(textOf) : [];
          setShown({ name: 'codes', codes });
          notice.set(texts.twoFactorOn);
        }}
      >
        <SecretOfApp secret={shown.secret} uri={shown.uri} />
      </AccountForm>
    );
  }
  return (
    <>
      <p class="lead">{texts.twoFactorHint}</p>
      {refusal !== undefined && <Problem refusal={refusal} />}
      <button type="button" class="primary" onClick={() => void start()}>
        {texts.beginTwoFactor}
      </button>
      {destroy !== undefined && (
        <details class="end">
          <summary>{texts.destroyTwoFactor}</summary>
          <AccountForm
            api={api}
            operation={destroy}
            submitLabel={texts.destroyTwoFactor}
            isDangerous
            onDone={() => notice.set(texts.twoFactorOff)}
          />
        </details>
      )}
    </>
  );
}

/** The secret, for an authenticator app. */
function SecretOfApp({ secret, uri }: { readonly secret: string; readonly uri: string }): JSX.Element {
  return (
    <>
      <p class="lead">{texts.twoFactorSecret}</p>
      <Secret text={secret} />
      {uri.startsWith('otpauth:') && (
        <>
          <QrCode text={uri} label={texts.twoFactorQrCode} />
          <p>
            <a href={uri}>{texts.openAuthenticator}</a>
          </p>
        </>
      )}
    </>
  );
}

function RecoveryCodes({ codes }: { readonly codes: readonly string[] }): JSX.Element {
  return (
    <>
      <h3>{texts.recoveryCodes}</h3>
      <p class="lead">{texts.recoveryHint}</p>
      <Secret text={codes.join('\n')} />
    </>
  );
}
