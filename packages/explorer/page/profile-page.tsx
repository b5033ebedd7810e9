import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { AccountForm } from './account-form.tsx';
import type { Api, Operation } from './api-model.ts';
import { useDraft } from './drafts.ts';
import { send } from './exchanges.ts';
import { Facts } from './facts.tsx';
import { navigate } from './location.ts';
import { leave } from './logins.ts';
import { notice } from './notice.tsx';
import { isRow, type Row } from './records.ts';
import { propertiesOf } from './schema.ts';
import { SchemaForm } from './schema-form.tsx';
import { session } from './session.ts';
import { Problem, Waiting } from './states.tsx';
import { texts } from '../src/texts.ts';
import { changesOf, valuesOf } from './update-form.tsx';
import { useAnswer } from './use-answer.ts';

/** One's own account, to be read, changed and deleted. */
export function ProfilePage({ api }: { readonly api: Api }): JSX.Element {
  const { me, changeMe, deleteMe } = api.account;
  const { answer, refusal, isWaiting, reload } = useAnswer(me, me!.path, isRow);
  const row = isRow(answer?.body) ? answer.body : undefined;
  const written = new Set(propertiesOf(api.document, changeMe?.body?.schema).map(([name]) => name));
  return (
    <>
      <Waiting isWaiting={isWaiting} />
      {refusal !== undefined && <Problem refusal={refusal} onRetry={reload} />}
      {row !== undefined && changeMe?.body !== undefined && (
        <ProfileForm api={api} row={row} change={changeMe} reload={reload} />
      )}
      {row !== undefined && (
        <Facts
          api={api}
          schema={me!.answer ?? {}}
          row={row}
          names={Object.keys(row).filter((name) => name !== 'id' && !written.has(name))}
          isAside={false}
        />
      )}
      {row !== undefined && deleteMe !== undefined && <Deletion api={api} deletion={deleteMe} />}
    </>
  );
}

function ProfileForm({
  api,
  row,
  change,
  reload,
}: {
  readonly api: Api;
  readonly row: Row;
  readonly change: Operation;
  readonly reload: () => void;
}): JSX.Element {
  const before = valuesOf(api, change, row);
  const draft = useDraft('account', undefined);
  return (
    <SchemaForm
      api={api}
      schema={change.body!.schema}
      purpose="account"
      draft={draft}
      initial={before}
      isUpdate
      submitLabel={texts.save}
      onSubmit={async (values) => {
        const changes = changesOf(before, values);
        if (Object.keys(changes).length === 0) return notice.set(texts.unchanged);
        await send({ operation: change, url: change.path, body: changes });
        draft.settle(draft, undefined);
        notice.set(texts.saved);
        reload();
      }}
    />
  );
}

/** Deletes the account with the password, behind a button. */
function Deletion({ api, deletion }: { readonly api: Api; readonly deletion: Operation }): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking) {
    return (
      <section class="end">
        <button type="button" class="danger" onClick={() => setAsking(true)}>
          {texts.deleteAccount}
        </button>
      </section>
    );
  }
  return (
    <section class="end" aria-labelledby="delete-title">
      <h2 id="delete-title">{texts.deleteAccount}</h2>
      <AccountForm
        api={api}
        operation={deletion}
        submitLabel={texts.deleteAccount}
        isDangerous
        onCancel={() => setAsking(false)}
        onDone={() => {
          leave(session.get().token, texts.accountDeleted);
          navigate(location.pathname);
        }}
      >
        <p class="lead">{texts.deleteAccountHint}</p>
      </AccountForm>
    </section>
  );
}
