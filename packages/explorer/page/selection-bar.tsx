import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { recordPathOf, type Resource } from './api-model.ts';
import { Refusal, send } from './exchanges.ts';
import { notice } from './notice.tsx';
import { isOffered } from './permissions.ts';
import { type Row, textOf } from './records.ts';
import { session } from './session.ts';
import { Problem, Question } from './states.tsx';
import { useStore } from './store.ts';
import { texts } from './texts.ts';

/** What can be done with the rows that are selected. */
export function SelectionBar({
  resource,
  path,
  rows,
  onClear,
  onChanged,
}: {
  readonly resource: Resource;
  readonly path: string;
  readonly rows: readonly Row[];
  readonly onClear: () => void;
  readonly onChanged: () => void;
}): JSX.Element {
  const person = useStore(session);
  const [isAsking, setAsking] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const remove = async (): Promise<void> => {
    setAsking(false);
    const { done, last } = await removeRows(resource, path, rows);
    notice.set(texts.deletedSome(done, rows.length - done));
    setRefusal(last);
    if (last === undefined) onClear();
    if (done > 0) onChanged();
  };
  return (
    <div class="selection" role="region" aria-label={texts.selected(rows.length)}>
      <span role="status">{texts.selected(rows.length)}</span>
      <span class="buttons">
        <button
          type="button"
          onClick={() => {
            void navigator.clipboard.writeText(JSON.stringify(rows, undefined, 2)).then(() => notice.set(texts.copied));
          }}
        >
          {texts.copyJson}
        </button>
        {isOffered(resource.destroy, person) && (
          <button type="button" class="danger" onClick={() => setAsking(true)}>
            {texts.deleteSelected}
          </button>
        )}
        <button type="button" class="plain" onClick={onClear}>
          {texts.clearSelection}
        </button>
      </span>
      {refusal !== undefined && <Problem refusal={refusal} />}
      {isAsking && (
        <Question
          title={texts.deleteManyQuestion(rows.length)}
          confirmLabel={texts.delete}
          onConfirm={() => void remove()}
          onCancel={() => setAsking(false)}
        >
          <p>{texts.deleteHint}</p>
        </Question>
      )}
    </div>
  );
}

interface Removal {
  readonly done: number;
  /** The last refusal; undefined if there was none. */
  readonly last: Refusal | undefined;
}

/** Deletes rows: all in one request if the API has one for that, else one after the other. */
async function removeRows(resource: Resource, path: string, rows: readonly Row[]): Promise<Removal> {
  const { bulkDestroy, destroy, key } = resource;
  const parameter = bulkDestroy?.query[0]?.name;
  if (bulkDestroy !== undefined && parameter !== undefined) {
    const keys = rows.map((row) => encodeURIComponent(textOf(row[key]))).join(',');
    const refusal = await refusalOf(send({ operation: bulkDestroy, url: `${path}?${parameter}=${keys}` }));
    return { done: refusal === undefined ? rows.length : 0, last: refusal };
  }
  let done = 0;
  let last: Refusal | undefined;
  for (const row of rows) {
    const refusal = await refusalOf(send({ operation: destroy!, url: recordPathOf(resource, path, row[key]) }));
    if (refusal === undefined) done++;
    last = refusal ?? last;
    // A conflict is one record's; whatever else is refused once is refused again.
    if (refusal !== undefined && refusal.status !== 409 && refusal.status !== 404) break;
  }
  return { done, last };
}

async function refusalOf(sending: Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await sending;
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
