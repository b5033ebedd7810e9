import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Api, Resource } from './api-model.ts';
import { Input } from './input.tsx';
import { notice } from './notice.tsx';
import type { Schema } from './openapi.ts';
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
  /** Is called when nothing is edited any more, with what came of the change, if there was one. */
  readonly onDone: (outcome: Outcome | undefined) => void;
}

/** The input of one value in a table: Enter sends it, and so does leaving; Escape gives it up. */
export function CellInput({ api, resource, path, row, name, label, schema, onDone }: CellInputProps): JSX.Element {
  const described = describe(api.document, schema, name);
  const [value, setValue] = useState(row[name]);
  const isOver = useRef(false);
  const cell = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => cell.current?.querySelector<HTMLElement>('input, select')?.focus(), []);
  const finish = async (given: unknown): Promise<void> => {
    if (isOver.current) return;
    isOver.current = true;
    if (isSame(given, row[name])) return onDone(undefined);
    const outcome = await changeRows({ resource, path, rows: [row] }, name, given ?? null);
    notice.set(outcome.refusal === undefined ? texts.saved : '');
    onDone(outcome);
  };
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
        aria={{
          'aria-label': label,
          'aria-describedby': undefined,
          'aria-invalid': undefined,
          'aria-required': undefined,
        }}
      />
    </span>
  );
}
