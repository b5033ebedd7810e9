import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Api, Resource } from './api-model.ts';
import { ChangeForm } from './change-form.tsx';
import { copyText } from './copy-text.ts';
import { notice } from './notice.tsx';
import { isOffered } from './permissions.ts';
import { type Row, textOf } from './records.ts';
import { session } from './session.ts';
import { changeOf, deleteRows, deletionOf, type Outcome } from './several-records.ts';
import { Problem, Question } from './states.tsx';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import type { Selection } from './use-selection.ts';

interface SelectionProps {
  readonly api: Api;
  readonly resource: Resource;
  readonly path: string;
  readonly selection: Selection;
  /** Is called when records were changed or deleted. */
  readonly onWritten: () => void;
}

/** The actions on the rows that are selected. */
export function SelectionBar(props: SelectionProps): JSX.Element {
  const { api, resource, path, selection, onWritten } = props;
  const { rows, outcome } = selection;
  const [open, setOpen] = useState<'change' | 'question' | 'deletion'>();
  const settle = (found: Outcome, left: readonly Row[]): void => {
    selection.settle(found, left);
    if (found.done > 0) onWritten();
  };
  const remove = async (): Promise<void> => {
    setOpen('deletion');
    const found = await deleteRows({ resource, path, rows });
    setOpen(undefined);
    notice.set(texts.deletedSome(found.done, rows.length - found.done));
    const isAtFault = (row: Row): boolean => found.faults.size === 0 || found.faults.has(textOf(row[resource.key]));
    settle(found, found.refusal === undefined ? [] : rows.filter(isAtFault));
  };
  return (
    <div class="selection" role="region" aria-label={texts.selection}>
      <span role="status">{texts.selected(rows.length)}</span>
      <SelectionButtons {...props} open={open} onOpen={setOpen} />
      {open === 'change' && (
        <ChangeForm
          api={api}
          resource={resource}
          path={path}
          rows={rows}
          onCancel={() => setOpen(undefined)}
          onOutcome={(found) => {
            if (found.refusal === undefined) setOpen(undefined);
            settle(found, rows);
          }}
        />
      )}
      {outcome?.refusal !== undefined &&
        (outcome.faults.size === 0 ? (
          <Problem refusal={outcome.refusal} />
        ) : (
          <p class="fault" role="alert">
            {texts.faultsAtRows}
          </p>
        ))}
      {open === 'question' && (
        <Question
          title={texts.deleteManyQuestion(rows.length)}
          confirmLabel={texts.delete}
          onConfirm={() => void remove()}
          onCancel={() => setOpen(undefined)}
        >
          <p>{texts.deleteHint}</p>
        </Question>
      )}
    </div>
  );
}

function SelectionButtons({
  resource,
  path,
  selection,
  open,
  onOpen,
}: SelectionProps & {
  readonly open: 'change' | 'question' | 'deletion' | undefined;
  readonly onOpen: (part: 'change' | 'question' | undefined) => void;
}): JSX.Element {
  const person = useStore(session);
  const change = changeOf(resource);
  const isDeleting = open === 'deletion';
  return (
    <span class="buttons">
      <button type="button" onClick={() => void copyText(JSON.stringify(selection.rows, undefined, 2))}>
        {texts.copyJson}
      </button>
      {isOffered(change, person, path) && change.body !== undefined && (
        <button
          type="button"
          aria-expanded={open === 'change'}
          aria-disabled={isDeleting}
          onClick={() => !isDeleting && onOpen(open === 'change' ? undefined : 'change')}
        >
          {texts.changeSelected}
        </button>
      )}
      {isOffered(deletionOf(resource), person, path) && (
        <button
          type="button"
          class="danger"
          aria-disabled={isDeleting}
          onClick={() => !isDeleting && onOpen('question')}
        >
          {isDeleting ? texts.deleting : texts.deleteSelected}
        </button>
      )}
      <button type="button" class="plain" onClick={() => selection.select(new Set())}>
        {texts.clearSelection}
      </button>
    </span>
  );
}
