import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { AccountForm } from './account-form.tsx';
import type { Api } from './api-model.ts';
import type { Answer } from './exchanges.ts';
import { loginQuestion } from './login-question.ts';
import { beginSession } from './logins.ts';
import { continueHalfLogin, forgetHalfLogin, halfLogin, OAuthLogins } from './oauth-login.tsx';
import { PasskeyLogin } from './passkey-login.tsx';
import { logIn } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';

/** Asks for what the API's own login wants, or for a token if the API has no login that the document names. */
export function LoginDialog({ api }: { readonly api: Api }): JSX.Element {
  const question = useStore(loginQuestion);
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = useRef(question);
  useEffect(continueHalfLogin, []);
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
          {api.login === undefined ? <TokenForm /> : <LoginSteps api={api} />}
          <button type="button" class="plain" onClick={() => loginQuestion.set(undefined)}>
            {texts.cancel}
          </button>
        </>
      )}
    </dialog>
  );
}

/** The step of a login that is shown, with what is known by then. */
type Step =
  | { readonly name: 'login'; readonly said?: string; readonly email?: unknown }
  | { readonly name: 'second factor'; readonly token: string }
  | { readonly name: 'forgot' | 'register' }
  | { readonly name: 'reset' | 'register with code'; readonly email: string };

interface StepProps {
  readonly api: Api;
  readonly step: Step;
  readonly onStep: (step: Step) => void;
}

/** The login and what leads to one: a new password, a new account. */
function LoginSteps({ api }: { readonly api: Api }): JSX.Element {
  const [step, setStep] = useState<Step>(() => {
    const token = halfLogin();
    return token === undefined ? { name: 'login' } : { name: 'second factor', token };
  });
  useEffect(forgetHalfLogin, []);
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  // Whoever is at the keyboard goes on in the step that has come.
  useEffect(() => {
    const field = heading.current?.parentElement?.querySelector<HTMLElement>('input');
    if (!isFirst.current) field?.focus();
    isFirst.current = false;
  }, [step]);
  const titles = {
    login: texts.logIn,
    'second factor': texts.secondFactor,
    forgot: texts.resetPassword,
    reset: texts.resetPassword,
    register: texts.register,
    'register with code': texts.register,
  };
  return (
    <>
      <h2 id="login-title" ref={heading}>
        {titles[step.name]}
      </h2>
      <StepForm key={step.name} api={api} step={step} onStep={setStep} />
      {step.name === 'login' ? (
        <>
          <OAuthLogins api={api} />
          <PasskeyLogin api={api} onDone={() => loginQuestion.set(undefined)} />
          <LoginLinks api={api} step={step} onStep={setStep} />
        </>
      ) : (
        <button type="button" class="plain" onClick={() => setStep({ name: 'login' })}>
          {texts.backToLogin}
        </button>
      )}
    </>
  );
}

function LoginLinks({ api: { account }, onStep }: StepProps): JSX.Element | null {
  const canReset = account.forgotPassword !== undefined && account.resetPassword !== undefined;
  if (!canReset && account.register === undefined) return null;
  return (
    <p class="login-links">
      {canReset && (
        <button type="button" class="link" onClick={() => onStep({ name: 'forgot' })}>
          {texts.forgotPassword}
        </button>
      )}
      {account.register !== undefined && (
        <button type="button" class="link" onClick={() => onStep({ name: 'register' })}>
          {texts.register}
        </button>
      )}
    </p>
  );
}

function StepForm({ api, step, onStep }: StepProps): JSX.Element {
  const { account } = api;
  switch (step.name) {
    case 'login':
      return <LoginForm api={api} step={step} onStep={onStep} />;
    case 'second factor':
      return (
        <AccountForm
          api={api}
          operation={account.loginTwoFactor!}
          purpose="login"
          known={{ two_factor_token: step.token, ...withoutChoice(api) }}
          submitLabel={texts.logIn}
          onDone={unlessClosed((_values, { body }) => beginSession(body))}
        >
          <p class="hint">{texts.secondFactorHint}</p>
        </AccountForm>
      );
    case 'forgot':
      return (
        <AccountForm
          api={api}
          operation={account.forgotPassword!}
          submitLabel={texts.sendCode}
          onDone={({ email }) => onStep({ name: 'reset', email: String(email) })}
        >
          <p class="hint">{texts.resetHint}</p>
        </AccountForm>
      );
    case 'reset':
      return (
        <AccountForm
          api={api}
          operation={account.resetPassword!}
          known={{ email: step.email }}
          submitLabel={texts.changePassword}
          onDone={({ email }) => onStep({ name: 'login', email, said: texts.passwordReset })}
        >
          <p class="hint">{texts.codeSent(step.email)}</p>
        </AccountForm>
      );
    case 'register':
    case 'register with code':
      return <RegisterForm api={api} step={step} onStep={onStep} />;
  }
}

function LoginForm({ api, step, onStep }: StepProps & { readonly step: Extract<Step, { name: 'login' }> }) {
  const takeUp = unlessClosed((_values, { body }) => beginSession(body));
  return (
    <AccountForm
      api={api}
      operation={api.login!}
      purpose="login"
      known={withoutChoice(api)}
      initial={step.email === undefined ? undefined : { email: step.email }}
      submitLabel={texts.logIn}
      onDone={(values, answer) => {
        const { two_factor_token: token } = (answer.body ?? {}) as { two_factor_token?: unknown };
        const isHalf = typeof token === 'string' && api.account.loginTwoFactor !== undefined;
        if (isHalf) onStep({ name: 'second factor', token });
        else takeUp(values, answer);
      }}
    >
      {step.said !== undefined && <p role="status">{step.said}</p>}
      <p class="hint">{api.account.refresh === undefined ? texts.loginHint : texts.loginStays}</p>
    </AccountForm>
  );
}

/** Sends a code first if the API wants one: nobody has it before. */
function RegisterForm({ api, step, onStep }: StepProps & { readonly step: Exclude<Step, { name: 'login' }> }) {
  const { register, sendVerificationEmail: sendCode } = api.account;
  const needsCode = Object.hasOwn(register!.body?.schema.properties ?? {}, 'code');
  const email = 'email' in step ? step.email : undefined;
  if (needsCode && sendCode !== undefined && email === undefined) {
    return (
      <AccountForm
        api={api}
        operation={sendCode}
        purpose="register"
        submitLabel={texts.sendCode}
        onDone={(values) => onStep({ name: 'register with code', email: String(values['email']) })}
      >
        <p class="hint">{texts.registerHint}</p>
      </AccountForm>
    );
  }
  return (
    <AccountForm
      api={api}
      operation={register!}
      purpose="register"
      known={email === undefined ? {} : { email }}
      submitLabel={texts.register}
      onDone={(values) => onStep({ name: 'login', email: values['email'], said: texts.registered })}
    >
      {email !== undefined && <p class="hint">{texts.registerCode(email)}</p>}
    </AccountForm>
  );
}

/** Where the refresh token goes is no question for people: into the cookie. */
function withoutChoice({ account }: Api): { readonly refresh?: undefined } {
  return account.refresh === undefined ? {} : { refresh: undefined };
}

/** Takes an answer up only if nobody has given the login up meanwhile. */
function unlessClosed(take: (values: unknown, answer: Answer) => void) {
  const question = loginQuestion.get();
  return (values: unknown, answer: Answer): void => {
    if (loginQuestion.get() !== question) return;
    take(values, answer);
    loginQuestion.set(undefined);
  };
}

function TokenForm(): JSX.Element {
  const [token, setToken] = useState('');
  return (
    <>
      <h2 id="login-title">{texts.logIn}</h2>
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
    </>
  );
}
