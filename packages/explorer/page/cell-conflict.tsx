import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Api, Resource } from './api-model.ts';
import { ChangedFields, type Choice, conflictOf, FieldChoice } from './conflict.tsx';
import type { Schema } from './openapi.ts';
import { isRow, type Row } from './records.ts';
import { Question } from './states.tsx';
import { texts } from '../src/texts.ts';

interface ConflictProps {
  readonly api: Api;
  readonly resource: Resource;
  /** The record as the table shows it, which may have fields of another form. */
  readonly row: Row;
  /** The record as it was read when the cell was opened, or else as the table shows it. */
  readonly before: Row;
  /** The record as it is now. */
  readonly now: Row;
  readonly name: string;
  /** The schema by which the field is written. */
  readonly schema: Schema;
  /** The value that was entered. */
  readonly mine: unknown;
  readonly onChoose: (choice: Choice) => void;
}

/** Asks which value of a field stays, because somebody else has changed the record since the table was read. */
export function CellConflict({
  api,
  resource,
  row,
  before,
  now,
  name,
  schema,
  mine,
  onChoose,
}: ConflictProps): JSX.Element {
  const isBoth = conflictOf(before, { [name]: mine }, before, now).fields[name] !== undefined;
  const [choice, setChoice] = useState<Choice | undefined>(isBoth ? undefined : 'mine');
  const shared = Object.fromEntries(
    Object.entries(before).filter(
      ([each, value]) => Object.hasOwn(row, each) && Object.hasOwn(now, each) && hasRows(value) === hasRows(now[each]),
    ),
  );
  return (
    <Question
      title={texts.problemOf(412)}
      confirmLabel={texts.save}
      isDangerous={false}
      canConfirm={choice !== undefined}
      onConfirm={() => onChoose(choice!)}
      onCancel={() => onChoose('theirs')}
    >
      <ChangedFields api={api} schema={resource.row} before={shared} now={now} />
      {isBoth && (
        <FieldChoice
          api={api}
          name={name}
          schema={schema}
          values={{ mine, theirs: now[name] }}
          choice={choice}
          onChoose={setChoice}
        />
      )}
    </Question>
  );
}

/** Tells if a value has records in it: a list may show less of them than the record does. */
function hasRows(value: unknown): boolean {
  return isRow(Array.isArray(value) ? value[0] : value);
}
