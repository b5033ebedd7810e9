import type { JSX } from 'preact';
import type { Detail, Refusal } from './exchanges.ts';
import { askForLogin } from './login-question.ts';
import { session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { stepsOf } from './json-pointer.ts';

/** Says what is wrong with a form as a whole, and with what has no field. What is wrong with a field stands there. */
export function Faults({
  refusal,
  shown,
  isLogin,
}: {
  readonly refusal: Refusal;
  /** The names of the fields that are shown. */
  readonly shown: readonly string[];
  /** True of the form of the login itself. */
  readonly isLogin: boolean;
}): JSX.Element {
  const { token } = useStore(session);
  const { status, details, retrySeconds } = refusal;
  const isBeside = ({ path }: Detail): boolean => shown.includes(stepsOf(path)[0] ?? '');
  const others = details.filter((detail) => !isBeside(detail));
  return (
    <div class="faults" role="alert" tabIndex={-1}>
      <p>
        <bdi>{summaryOf(refusal, details.length - others.length)}</bdi>
      </p>
      {status === 401 && token === undefined && !isLogin && (
        <p>
          {texts.loginEnded} {texts.restored}{' '}
          <button type="button" class="small" onClick={() => askForLogin()}>
            {texts.logIn}
          </button>
        </p>
      )}
      {status === 404 && <p>{texts.goneHint}</p>}
      {status === 412 && <p>{texts.conflictHint}</p>}
      {status === 428 && <p>{texts.readFirstHint}</p>}
      {status === 403 && <p>{texts.forbiddenHint}</p>}
      {retrySeconds !== undefined && <p>{texts.retryHint(retrySeconds)}</p>}
      {others.length > 0 && (
        <ul>
          {others.map(({ path, message: words }) => (
            <li key={path + words}>
              <code>{path}</code> {words}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function summaryOf({ status, details, message }: Refusal, beside: number): string {
  if (status === 0) return `${texts.offline}. ${texts.offlineHint}`;
  if (status === 412) return `${texts.problemOf(status)}.`;
  // Of a wrong body the server's own sentence lists the same.
  return beside > 0 || (status === 400 && details.length > 0) ? texts.faults(details.length) : message;
}
