import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Api, Resource } from './api-model.ts';
import type { Column } from './columns.tsx';
import { CellInput } from './editable-cell.tsx';
import type { Schema } from './openapi.ts';
import type { Row } from './records.ts';
import type { HrefOfValue } from './reference-href.ts';
import type { Outcome } from './several-records.ts';
import { texts } from '../src/texts.ts';
import type { Selection } from './use-selection.ts';
import { Value } from './value.tsx';

interface CellProps {
  readonly api: Api;
  readonly resource: Resource;
  /** The path of the collection. */
  readonly path: string;
  readonly row: Row;
  /** The title of the record. */
  readonly title: string;
  readonly column: Column;
  /** The schema by which the field is written; undefined if it cannot be edited in the table. */
  readonly schema: Schema | undefined;
  /** The places after the point. */
  readonly decimals: number | undefined;
  readonly href: string | undefined;
  readonly hrefOfValue: HrefOfValue | undefined;
  /** True of the one cell that Tab leads to. */
  readonly isCurrent: boolean;
  /** Is called when the keyboard is at the cell. */
  readonly onCurrent: () => void;
  readonly selection: Selection;
  /** Is called when the value was changed. */
  readonly onWritten: () => void;
}

/** A value in a table. Enter, F2 or a double click edits it, if it may be changed there. */
export function TableCell(props: CellProps): JSX.Element {
  const { column, title, schema, selection, onWritten } = props;
  const { name, label } = column;
  const [isEditing, setEditing] = useState(false);
  const cell = useRef<HTMLTableCellElement>(null);
  const done = (outcome: Outcome | undefined): void => {
    setEditing(false);
    // The keyboard was in the input, which is gone then.
    if (cell.current?.contains(document.activeElement) === true) cell.current.focus();
    if (outcome === undefined) return;
    selection.settle(outcome, selection.rows);
    if (outcome.refusal === undefined) onWritten();
  };
  if (schema === undefined) {
    return (
      <td class={alignmentOf(column)} data-label={label}>
        <CellValue {...props} />
      </td>
    );
  }
  return (
    <td
      ref={cell}
      class={['editable-cell', alignmentOf(column)].filter(Boolean).join(' ')}
      data-label={label}
      tabIndex={props.isCurrent ? 0 : -1}
      aria-keyshortcuts="Enter F2"
      onFocus={props.onCurrent}
      onDblClick={() => setEditing(true)}
      onKeyDown={(event) => {
        if (event.target !== cell.current || !['Enter', 'F2'].includes(event.key)) return;
        event.preventDefault();
        setEditing(true);
      }}
    >
      {isEditing ? (
        <CellInput {...props} name={name} label={texts.partOf(title, label)} schema={schema} onDone={done} />
      ) : (
        <>
          <CellValue {...props} />
          <button
            type="button"
            class="plain edit"
            tabIndex={-1}
            aria-label={texts.editValue(title, label)}
            onClick={() => setEditing(true)}
          >
            ✎
          </button>
        </>
      )}
    </td>
  );
}

function CellValue({ column, row, decimals, href, hrefOfValue }: CellProps): JSX.Element {
  const value = (
    <Value value={row[column.name]} described={column.described} decimals={decimals ?? 0} hrefOfValue={hrefOfValue} />
  );
  return href === undefined ? value : <a href={href}>{value}</a>;
}

/** The steps of rows and of editable cells that a key leads by. */
const STEPS: Readonly<Record<string, readonly [rows: number, cells: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Leads from one editable cell to the next: by arrows, and by Tab while one is edited. */
export function moveAmongCells(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  const cell = target.closest<HTMLTableCellElement>(EDITABLE);
  const [rows, cells] = stepOf(event, target === cell) ?? [];
  if (cell === null || rows === undefined || cells === undefined) return;
  const lines = [...(event.currentTarget as Element).children]
    .map((row) => [...row.querySelectorAll<HTMLTableCellElement>(EDITABLE)])
    .filter(({ length }) => length > 0);
  const line = lines.findIndex((each) => each.includes(cell));
  const next = lines[line + rows]?.[lines[line]!.indexOf(cell) + cells];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

const EDITABLE = 'td.editable-cell';

function stepOf({ key, shiftKey, target }: KeyboardEvent, isCell: boolean): readonly [number, number] | undefined {
  if (isCell) return STEPS[key];
  const isLeaving = key === 'Tab' && (target as HTMLElement).id === 'cell-input';
  return isLeaving ? [0, shiftKey ? -1 : 1] : undefined;
}

/** Numbers stand at the right. */
export function alignmentOf({ described: { kind } }: Column): string | undefined {
  return kind === 'integer' || kind === 'number' ? 'number' : undefined;
}
