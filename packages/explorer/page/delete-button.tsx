import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { fillPath, type Operation, type Resource } from './api-model.ts';
import { forgetDraft } from './drafts.ts';
import { Refusal, send } from './exchanges.ts';
import { here, navigate } from './location.ts';
import { notice } from './notice.tsx';
import { isOffered } from './permissions.ts';
import { ifMatch } from './reading.ts';
import { type Row, titleOf } from './records.ts';
import { session } from './session.ts';
import { Problem, Question } from './states.tsx';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { updateDraft } from './update-form.tsx';
import { shortened } from './words.ts';

interface DeleteProps {
  readonly resource: Resource;
  readonly path: string;
  readonly row: Row;
  readonly tag: string | undefined;
  readonly destroy: Operation;
  readonly reload: () => void;
}

/** Deletes a record after a question, and only as it was read. */
export function DeleteButton(props: DeleteProps): JSX.Element | null {
  const [isAsking, setAsking] = useState(false);
  const title = shortened(titleOf(props.resource, props.row), 80);
  const { refusal, forget, isSending, remove } = useDeletion(props, title);
  const mayDelete = isOffered(props.destroy, useStore(session), props.path);
  if (!mayDelete && refusal === undefined) return null;
  const retry = (): void => {
    forget();
    props.reload();
  };
  return (
    <section class="end">
      {refusal !== undefined && <Problem refusal={refusal} onRetry={refusal.status === 412 ? retry : undefined} />}
      {mayDelete && (
        <button type="button" class="danger" aria-disabled={isSending} onClick={() => setAsking(!isSending)}>
          {isSending ? texts.deleting : texts.delete}
        </button>
      )}
      {isAsking && (
        <Question
          title={texts.deleteQuestion(title)}
          confirmLabel={texts.delete}
          onConfirm={() => {
            setAsking(false);
            void remove();
          }}
          onCancel={() => setAsking(false)}
        >
          <p>{texts.deleteHint}</p>
        </Question>
      )}
    </section>
  );
}

function useDeletion({ resource, path, tag, destroy, reload }: DeleteProps, title: string) {
  const [refusal, setRefusal] = useState<Refusal>();
  const [isSending, setSending] = useState(false);
  const remove = async (): Promise<void> => {
    setSending(true);
    setRefusal(undefined);
    const target = here.get();
    try {
      await send({ operation: destroy, url: path, headers: ifMatch(tag) });
      forgetDraft(updateDraft(path));
      notice.set(texts.deleted(title));
      // Whoever has gone on meanwhile is not called back.
      if (here.get() !== target) return;
      if (resource.list === undefined) reload();
      else navigate(fillPath(resource.path, path));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
    } finally {
      setSending(false);
    }
  };
  return { refusal, forget: () => setRefusal(undefined), isSending, remove };
}
