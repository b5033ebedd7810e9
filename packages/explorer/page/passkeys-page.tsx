import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { AccountCard } from './account-card.tsx';
import { AccountForm } from './account-form.tsx';
import { type Api, type Operation, pathFor } from './api-model.ts';
import { Refusal } from './exchanges.ts';
import { notice } from './notice.tsx';
import { createPasskey, hasPasskeys } from './passkeys.ts';
import { isList, type Row, rowsOf, textOf } from './records.ts';
import { RelativeTime } from './relative-time.tsx';
import { Problem, Waiting } from './states.tsx';
import { texts } from '../src/texts.ts';
import { useAnswer } from './use-answer.ts';

/** What is shown of adding a passkey: the question for the password, or for the name of the passkey that the browser has made. */
type Adding = { readonly name: 'proof' } | { readonly name: 'name'; readonly passkey: unknown };

/** Nobody proves by hand that a passkey is there: the password does. */
const BY_PASSWORD = { passkey: undefined };

/** The passkeys by which the person logs in without a password. */
export function PasskeysPage({ api }: { readonly api: Api }): JSX.Element {
  const { listPasskeys: list, deletePasskey: destroy } = api.account;
  const { answer, refusal, isWaiting, reload } = useAnswer(list, list!.path, isList);
  const passkeys = rowsOf(answer?.body);
  return (
    <>
      <p class="lead">{texts.passkeysHint}</p>
      <Waiting isWaiting={isWaiting} />
      {refusal !== undefined && <Problem refusal={refusal} onRetry={reload} />}
      {answer !== undefined && passkeys.length === 0 && <p class="empty">{texts.noPasskeys}</p>}
      <ul class="cards">
        {passkeys.map((row) => (
          <PasskeyCard key={textOf(row['id'])} api={api} row={row} destroy={destroy} reload={reload} />
        ))}
      </ul>
      <NewPasskey api={api} reload={reload} />
    </>
  );
}

/** Asks for the password, has the browser make a passkey, and asks for a name. */
function NewPasskey({ api, reload }: { readonly api: Api; readonly reload: () => void }): JSX.Element | null {
  const { passkeyOptions, addPasskey } = api.account;
  const [adding, setAdding] = useState<Adding>();
  const [refusal, setRefusal] = useState<Refusal>();
  if (passkeyOptions === undefined || addPasskey === undefined || !hasPasskeys()) return null;
  const make = async (options: unknown): Promise<void> => {
    try {
      setAdding({ name: 'name', passkey: await createPasskey(options) });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setAdding(undefined);
      setRefusal(error);
    }
  };
  if (adding === undefined) {
    return (
      <>
        {refusal !== undefined && <p class="fault">{refusal.message}</p>}
        <button type="button" class="primary" onClick={() => setAdding({ name: 'proof' })}>
          {texts.addPasskey}
        </button>
      </>
    );
  }
  const stop = (): void => setAdding(undefined);
  return adding.name === 'proof' ? (
    <AccountForm
      key="proof"
      api={api}
      operation={passkeyOptions}
      known={BY_PASSWORD}
      submitLabel={texts.addPasskey}
      onCancel={stop}
      onDone={(_values, { body }) => void make(body)}
    />
  ) : (
    <AccountForm
      key="name"
      api={api}
      operation={addPasskey}
      known={{ passkey: adding.passkey }}
      submitLabel={texts.savePasskey}
      onCancel={stop}
      onDone={({ name }) => {
        stop();
        notice.set(texts.passkeyAdded(textOf(name)));
        reload();
      }}
    >
      <p class="lead">{texts.passkeyNameHint}</p>
    </AccountForm>
  );
}

interface PasskeyCardProps {
  readonly api: Api;
  readonly row: Row;
  readonly destroy: Operation | undefined;
  readonly reload: () => void;
}

function PasskeyCard({ api, row, destroy, reload }: PasskeyCardProps): JSX.Element {
  const name = textOf(row['name']);
  const used = row['last_used_at'];
  const [isAsking, setAsking] = useState(false);
  return (
    <AccountCard
      title={<bdi>{name}</bdi>}
      action={() =>
        destroy !== undefined && (
          <button type="button" aria-label={texts.deletePasskeyOf(name)} onClick={() => setAsking(!isAsking)}>
            {texts.deletePasskey}
          </button>
        )
      }
    >
      <p class="hint">
        {typeof used === 'string' ? (
          <>
            {texts.lastUsed} <RelativeTime time={used} />
          </>
        ) : (
          texts.neverUsed
        )}
      </p>
      {isAsking && (
        <AccountForm
          api={api}
          operation={{ ...destroy!, path: pathFor(destroy!, row['id']) }}
          known={BY_PASSWORD}
          submitLabel={texts.deletePasskey}
          isDangerous
          onCancel={() => setAsking(false)}
          onDone={() => {
            notice.set(texts.passkeyDeleted(name));
            reload();
          }}
        />
      )}
    </AccountCard>
  );
}
