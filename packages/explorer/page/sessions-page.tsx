import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { AccountCard } from './account-card.tsx';
import { type Api, type Operation, pathFor } from './api-model.ts';
import { deviceName } from './device-name.ts';
import { send } from './exchanges.ts';
import { endSession, leave } from './logins.ts';
import { notice } from './notice.tsx';
import { isList, type Row, rowsOf, textOf } from './records.ts';
import { RelativeTime } from './relative-time.tsx';
import { session } from './session.ts';
import { Problem, Question, Waiting } from './states.tsx';
import { texts } from '../src/texts.ts';
import { useAnswer } from './use-answer.ts';

/** The devices that are logged in to the account. */
export function SessionsPage({ api }: { readonly api: Api }): JSX.Element {
  const { listSessions, endSession: end, logoutAll } = api.account;
  const { answer, refusal, isWaiting, reload } = useAnswer(listSessions, listSessions!.path, isList);
  const [isAsking, setAsking] = useState(false);
  const sessions = rowsOf(answer?.body).toSorted((one, other) => Number(other['current']) - Number(one['current']));
  return (
    <>
      <p class="lead">{texts.sessionsHint}</p>
      <Waiting isWaiting={isWaiting} />
      {refusal !== undefined && <Problem refusal={refusal} onRetry={reload} />}
      <ul class="cards">
        {sessions.map((each) => (
          <SessionCard key={textOf(each['id'])} row={each} end={end} reload={reload} />
        ))}
      </ul>
      {logoutAll !== undefined && sessions.length > 0 && (
        <button type="button" class="danger" onClick={() => setAsking(true)}>
          {texts.logOutEverywhere}
        </button>
      )}
      {isAsking && (
        <Question
          title={texts.logOutEverywhereQuestion}
          confirmLabel={texts.logOutEverywhere}
          onCancel={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            void endSession(logoutAll, texts.loggedOutEverywhere);
          }}
        >
          <p>{texts.logOutEverywhereHint}</p>
        </Question>
      )}
    </>
  );
}

interface SessionCardProps {
  readonly row: Row;
  /** Undefined if the API ends no single session. */
  readonly end: Operation | undefined;
  readonly reload: () => void;
}

function SessionCard({ row, end, reload }: SessionCardProps): JSX.Element {
  const userAgent = textOf(row['user_agent']);
  const device = deviceName(userAgent);
  const isCurrent = row['current'] === true;
  const endOne = async (): Promise<void> => {
    const { token } = session.get();
    await send({ operation: end!, url: pathFor(end!, row['id']) });
    if (isCurrent) return leave(token, texts.loggedOut);
    notice.set(texts.sessionEnded(device));
    reload();
  };
  const title = (
    <>
      <bdi>{device}</bdi>
      {isCurrent && <span class="badge">{texts.thisSession}</span>}
    </>
  );
  return (
    <AccountCard
      title={title}
      hint={userAgent}
      action={(run) =>
        end !== undefined && (
          <button type="button" aria-label={texts.endSessionOf(device)} onClick={() => void run(endOne)}>
            {texts.endSession}
          </button>
        )
      }
    >
      <p class="hint">
        {texts.lastUsed} <RelativeTime time={textOf(row['last_used_at'])} /> · {texts.since}{' '}
        <RelativeTime time={textOf(row['created_at'])} /> · <bdi>{textOf(row['ip'])}</bdi>
      </p>
    </AccountCard>
  );
}
