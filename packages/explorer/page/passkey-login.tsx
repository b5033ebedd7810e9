import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Api } from './api-model.ts';
import { Refusal, sentenceOf } from './exchanges.ts';
import { hasPasskeyLogin, logInWithPasskey } from './passkeys.ts';
import { texts } from '../src/texts.ts';

/** The button that logs in with a passkey, if the API and the browser do that. */
export function PasskeyLogin({ api, onDone }: { readonly api: Api; readonly onDone: () => void }): JSX.Element | null {
  const [fault, setFault] = useState('');
  if (!hasPasskeyLogin(api)) return null;
  const logIn = async (): Promise<void> => {
    setFault('');
    try {
      await logInWithPasskey(api);
      onDone();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setFault(sentenceOf(error));
    }
  };
  return (
    <>
      <button type="button" onClick={() => void logIn()}>
        {texts.passkeyLogin}
      </button>
      {fault !== '' && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
    </>
  );
}
