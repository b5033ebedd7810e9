import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { fillPath, type Operation, type Resource } from './api-model.ts';
import { Refusal, send } from './exchanges.ts';
import { hrefOf, navigate } from './location.ts';
import { notice } from './notice.tsx';
import { type Row, titleOf } from './records.ts';
import { Problem, Question } from './states.tsx';
import { texts } from '../src/texts.ts';
import { ifMatch } from './update-form.tsx';
import { shortened } from './words.ts';

/** Deletes a record after a question, and only as it was read. */
export function DeleteButton({
  resource,
  path,
  row,
  tag,
  destroy,
  reload,
}: {
  readonly resource: Resource;
  readonly path: string;
  readonly row: Row;
  readonly tag: string | undefined;
  readonly destroy: Operation;
  readonly reload: () => void;
}): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const title = shortened(titleOf(resource, row), 80);
  const remove = async (): Promise<void> => {
    setAsking(false);
    try {
      await send({ operation: destroy, url: path, headers: ifMatch(tag) });
      notice.set(texts.deleted(title));
      navigate(
        resource.list === undefined
          ? '/'
          : hrefOf(fillPath(resource.path, path), new URLSearchParams(), new URLSearchParams()),
      );
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
    }
  };
  return (
    <section class="end">
      {refusal !== undefined && <Problem refusal={refusal} onRetry={refusal.status === 412 ? reload : undefined} />}
      {refusal?.status !== 403 && (
        <button type="button" class="danger" onClick={() => setAsking(true)}>
          {texts.delete}
        </button>
      )}
      {isAsking && (
        <Question
          title={texts.deleteQuestion(title)}
          confirmLabel={texts.delete}
          onConfirm={() => void remove()}
          onCancel={() => setAsking(false)}
        >
          <p>{texts.deleteHint}</p>
        </Question>
      )}
    </section>
  );
}
