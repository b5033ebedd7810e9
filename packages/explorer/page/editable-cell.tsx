import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Api, recordPathOf, type Resource } from './api-model.ts';
import { CellConflict } from './cell-conflict.tsx';
import { Refusal } from './exchanges.ts';
import { ariaOf } from './form-facts.ts';
import { Input } from './input.tsx';
import { notice } from './notice.tsx';
import type { Schema } from './openapi.ts';
import { type Reading, readRecord } from './reading.ts';
import type { Row } from './records.ts';
import { isSame } from './same-value.ts';
import { describe, type Kind } from './schema.ts';
import { changeRows, type Outcome } from './several-records.ts';
import { texts } from '../src/texts.ts';

/** The kinds of values that have one input with room in a cell. */
const KINDS: ReadonlySet<Kind> = new Set(['text', 'integer', 'number', 'boolean', 'choice', 'date', 'date-time']);

/** Tells if values of a schema can be edited in a cell. */
export function fitsCell({ document }: Api, name: string, schema: Schema): boolean {
  return KINDS.has(describe(document, schema, name).kind);
}

interface CellInputProps {
  readonly api: Api;
  readonly resource: Resource;
  /** The path of the collection. */
  readonly path: string;
  readonly row: Row;
  readonly name: string;
  readonly label: string;
  /** The schema by which the field is written. */
  readonly schema: Schema;
  /** Is called when nothing is edited any more, with what was received of the change, if there was one. */
  readonly onDone: (outcome: Outcome | undefined) => void;
}

/** What was entered into a cell over a record that somebody else has changed. */
interface Conflict {
  readonly mine: unknown;
  readonly before: Row;
  readonly reading: Reading;
}

/** The input of one value in a table: Enter sends it, and so does leaving; Escape gives it up. */
export function CellInput(given: CellInputProps): JSX.Element {
  // As it was when the input opened: the list may be followed meanwhile.
  const row = useRef(given.row).current;
  const props = { ...given, row };
  const { api, name, label, schema, onDone } = props;
  const described = describe(api.document, schema, name);
  const [value, setValue] = useState(row[name]);
  const cell = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => cell.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), []);
  const { conflict, finish, save } = useSaving(props);
  return (
    <span
      ref={cell}
      class="cell-input"
      onFocusOut={() => void finish(value)}
      onKeyDown={({ key }) => {
        if (key === 'Enter') void finish(value);
        if (key === 'Escape') void finish(row[name]);
      }}
    >
      <Input
        facts={{ api, purpose: 'cell', isUpdate: true, details: [] }}
        id="cell-input"
        name={name}
        described={described}
        required
        value={value}
        onChange={(next) => {
          setValue(next);
          if (described.kind === 'choice' || described.kind === 'boolean') void finish(next);
        }}
        aria={{ 'aria-label': label, ...ariaOf('cell-input', []) }}
      />
      {conflict !== undefined && (
        <CellConflict
          key={conflict.reading.tag}
          {...props}
          before={conflict.before}
          now={conflict.reading.row}
          mine={conflict.mine}
          onChoose={(choice) => {
            if (choice === 'mine') void save(conflict.mine, conflict.reading);
            else onDone(NOTHING_DONE);
          }}
        />
      )}
    </span>
  );
}

/**
 * Saves what is entered into a cell, once. If records have entity tags, the record is read when the input opens, and changed only if nobody
 * else was faster.
 */
function useSaving(props: CellInputProps) {
  const { resource, path, row, name, onDone } = props;
  const [conflict, setConflict] = useState<Conflict>();
  const isOver = useRef(false);
  const reading = useRef<Promise<Reading | undefined>>(undefined);
  useLayoutEffect(() => {
    reading.current = readTagged(props);
  }, []);
  const save = async (given: unknown, over: Reading | undefined): Promise<void> => {
    const outcome = await changeRows({ resource, path, rows: [row] }, name, given ?? null, over?.tag);
    const now = outcome.refusal?.status === 412 ? await readTagged(props) : undefined;
    if (now !== undefined) return setConflict({ mine: given, before: over!.row, reading: now });
    notice.set(outcome.refusal === undefined ? texts.saved : '');
    onDone(outcome);
  };
  const finish = async (given: unknown): Promise<void> => {
    if (isOver.current) return;
    isOver.current = true;
    if (isSame(given, row[name])) return onDone(undefined);
    const over = await reading.current;
    const isStale = over !== undefined && Object.hasOwn(over.row, name) && !isSame(over.row[name], row[name]);
    if (isStale) setConflict({ mine: given, before: row, reading: over });
    else await save(given, over);
  };
  return { conflict, finish, save };
}

/** The outcome of leaving a record as it is. */
const NOTHING_DONE: Outcome = { done: 0, refusal: undefined, faults: new Map() };

/** Reads the record of a row, if the API compares entity tags and the record can be read. */
async function readTagged({ resource, path, row }: CellInputProps): Promise<Reading | undefined> {
  const { retrieve, update, key } = resource;
  const url = recordPathOf(resource, path, row[key]);
  if (retrieve?.isTagged !== true || update === undefined || url === undefined) return undefined;
  try {
    return await readRecord(retrieve, url);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
