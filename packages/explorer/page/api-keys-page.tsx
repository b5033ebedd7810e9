import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { AccountCard } from './account-card.tsx';
import { AccountForm } from './account-form.tsx';
import { type Api, type Operation, pathFor } from './api-model.ts';
import { send } from './exchanges.ts';
import { notice } from './notice.tsx';
import { isList, type Row, rowsOf, textOf } from './records.ts';
import { RelativeTime } from './relative-time.tsx';
import { Secret } from './secret.tsx';
import { Problem, Question, Waiting } from './states.tsx';
import { texts } from '../src/texts.ts';
import { useAnswer } from './use-answer.ts';

/** The keys by which programs use the API as the person. */
export function ApiKeysPage({ api }: { readonly api: Api }): JSX.Element {
  const { listApiKeys: list, createApiKey: create, destroyApiKey: destroy } = api.account;
  const { answer, refusal, isWaiting, reload } = useAnswer(list, list!.path, isList);
  const [isNew, setNew] = useState(false);
  const [made, setMade] = useState<{ readonly name: string; readonly key: string }>();
  const keys = rowsOf(answer?.body);
  return (
    <>
      <p class="lead">{texts.apiKeysHint}</p>
      {made !== undefined && (
        <section class="made" aria-labelledby="made-title">
          <h3 id="made-title">{texts.newApiKey(made.name)}</h3>
          <p>{texts.newApiKeyHint}</p>
          <Secret text={made.key} />
        </section>
      )}
      <Waiting isWaiting={isWaiting} />
      {refusal !== undefined && <Problem refusal={refusal} onRetry={reload} />}
      {answer !== undefined && keys.length === 0 && <p class="empty">{texts.noApiKeys}</p>}
      <ul class="cards">
        {keys.map((row) => (
          <KeyCard key={textOf(row['id'])} row={row} destroy={destroy} reload={reload} />
        ))}
      </ul>
      {create !== undefined && !isNew && (
        <button type="button" class="primary" onClick={() => setNew(true)}>
          {texts.createApiKey}
        </button>
      )}
      {create !== undefined && isNew && (
        <>
          <h3>{texts.createApiKey}</h3>
          <AccountForm
            api={api}
            operation={create}
            submitLabel={texts.createApiKey}
            onCancel={() => setNew(false)}
            onDone={({ name }, { body }) => {
              setMade({ name: textOf(name), key: textOf((body as Row | undefined)?.['key']) });
              setNew(false);
              reload();
            }}
          />
        </>
      )}
    </>
  );
}

interface KeyCardProps {
  readonly row: Row;
  readonly destroy: Operation | undefined;
  readonly reload: () => void;
}

function KeyCard({ row, destroy, reload }: KeyCardProps): JSX.Element {
  const name = textOf(row['name']);
  const [isAsking, setAsking] = useState(false);
  const revoke = async (): Promise<void> => {
    setAsking(false);
    await send({ operation: destroy!, url: pathFor(destroy!, row['id']) });
    notice.set(texts.apiKeyDestroyed(name));
    reload();
  };
  const title = (
    <>
      <bdi>{name}</bdi> <code>{textOf(row['prefix'])}…</code>
    </>
  );
  return (
    <AccountCard
      title={title}
      action={(run) => (
        <>
          {destroy !== undefined && (
            <button type="button" aria-label={texts.destroyApiKeyOf(name)} onClick={() => setAsking(true)}>
              {texts.destroyApiKey}
            </button>
          )}
          {isAsking && (
            <Question
              title={texts.destroyApiKeyQuestion(name)}
              confirmLabel={texts.destroyApiKey}
              onCancel={() => setAsking(false)}
              onConfirm={() => void run(revoke)}
            >
              <p>{texts.destroyApiKeyHint}</p>
            </Question>
          )}
        </>
      )}
    >
      <KeyFacts row={row} />
    </AccountCard>
  );
}

/** What a key may do, and when it was used and expires. */
function KeyFacts({ row }: { readonly row: Row }): JSX.Element {
  const { scopes, last_used_at: used, expires_at: expires } = row;
  return (
    <p class="hint">
      {Array.isArray(scopes) && <bdi>{scopes.join(', ')} · </bdi>}
      {typeof used === 'string' ? (
        <>
          {texts.lastUsed} <RelativeTime time={used} />
        </>
      ) : (
        texts.neverUsed
      )}
      {typeof expires === 'string' && (
        <>
          {' · '}
          {texts.expires} <RelativeTime time={expires} />
        </>
      )}
    </p>
  );
}
