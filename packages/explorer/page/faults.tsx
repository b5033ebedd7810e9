import type { JSX } from 'preact';
import type { Detail, Refusal } from './exchanges.ts';
import { texts } from '../src/texts.ts';

/** Says what is wrong with a form as a whole, and with what has no field. What is wrong with a field stands there. */
export function Faults({
  refusal,
  shown,
}: {
  readonly refusal: Refusal;
  /** The names of the fields that are shown. */
  readonly shown: readonly string[];
}): JSX.Element {
  const { status, details, retrySeconds } = refusal;
  const isBeside = ({ path }: Detail): boolean => shown.includes(unescaped(path.split('/')[1] ?? ''));
  const others = details.filter((detail) => !isBeside(detail));
  return (
    <div class="faults" role="alert" tabIndex={-1}>
      <p>
        <bdi>{summaryOf(refusal, details.length - others.length)}</bdi>
      </p>
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
  return beside > 0 ? texts.faults(details.length) : message;
}

function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}
