import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Refusal } from './exchanges.ts';
import { askForLogin } from './login-question.ts';
import { session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { useSlow } from './use-slow.ts';

/** Says why there is nothing to be seen, and what can be done about it. */
export function Problem({
  refusal,
  onRetry,
}: {
  readonly refusal: Refusal;
  readonly onRetry?: (() => void) | undefined;
}): JSX.Element {
  const { token } = useStore(session);
  const { status, message, code, retrySeconds } = refusal;
  const needsLogin = status === 401 && token === undefined;
  return (
    <section class={`problem${needsLogin ? ' needs-login' : ''}`} role="alert">
      <h2>{status === 0 ? texts.offline : texts.problemOf(status)}</h2>
      <p>{status === 0 ? texts.offlineHint : <bdi>{message}</bdi>}</p>
      {status === 403 && <p>{texts.forbiddenHint}</p>}
      {retrySeconds !== undefined && <p>{texts.retryHint(retrySeconds)}</p>}
      {status !== 0 && (
        <p class="hint">
          <code>
            {status} {code}
          </code>
        </p>
      )}
      <div class="buttons">
        {needsLogin && (
          <button type="button" class="primary" onClick={() => askForLogin()}>
            {texts.logIn}
          </button>
        )}
        {onRetry !== undefined && (
          <button type="button" onClick={onRetry}>
            {texts.retry}
          </button>
        )}
      </div>
    </section>
  );
}

/** A line that tells of waiting: nothing at first, so that quick answers do not flicker. */
export function Waiting({ isWaiting }: { readonly isWaiting: boolean }): JSX.Element {
  const isSlow = useSlow(isWaiting);
  return (
    <div class={`waiting${isWaiting ? ' on' : ''}`} role="status">
      {isSlow ? <p>{texts.slow}</p> : null}
    </div>
  );
}

/** Says that what the URL asks for is not offered to this person. */
export function NotOffered({ title }: { readonly title: string }): JSX.Element {
  const isNobody = useStore(session).token === undefined;
  return (
    <section class={`problem${isNobody ? ' needs-login' : ''}`} role="alert">
      <h2>{title}</h2>
      <p>{isNobody ? texts.loginToGoOn : texts.notPermitted}</p>
      {isNobody && (
        <div class="buttons">
          <button type="button" class="primary" onClick={() => askForLogin()}>
            {texts.logIn}
          </button>
        </div>
      )}
    </section>
  );
}

/** Asks before something is done. */
export function Question({
  title,
  confirmLabel,
  isDangerous = true,
  canConfirm = true,
  onConfirm,
  onCancel,
  children,
}: {
  readonly title: string;
  readonly confirmLabel: string;
  /** False if it can be undone. */
  readonly isDangerous?: boolean;
  /** False until everything has been answered. */
  readonly canConfirm?: boolean;
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isSettled = useRef(false);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  // Closing leads back to where the keyboard was. The event of it comes later, when somebody may have asked again.
  const settle = (answer: () => void): void => {
    if (isSettled.current) return;
    isSettled.current = true;
    dialog.current?.close();
    answer();
  };
  const cancel = (): void => settle(onCancel);
  return (
    <dialog ref={dialog} aria-labelledby="question-title" onCancel={cancel} onClose={cancel}>
      <h2 id="question-title">
        <bdi>{title}</bdi>
      </h2>
      {children}
      <div class="buttons">
        <button type="button" onClick={cancel}>
          {texts.cancel}
        </button>
        <button
          type="button"
          class={isDangerous ? 'danger' : 'primary'}
          aria-disabled={!canConfirm}
          onClick={() => canConfirm && settle(onConfirm)}
        >
          {confirmLabel}
        </button>
      </div>
    </dialog>
  );
}
