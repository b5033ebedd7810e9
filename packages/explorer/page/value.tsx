import type { JSX } from 'preact';
import type { Described } from './schema.ts';
import { isRow, textOf } from './records.ts';
import { StoredFile, storedFileOf } from './stored-file.tsx';
import { texts } from '../src/texts.ts';
import { shortened } from './words.ts';

/** The longest text in a cell, in characters. */
const CELL = 120;

/** The number of places after the point of a number; 0 for one that is written with an exponent. */
export function decimalsOf(value: unknown): number {
  const text = typeof value === 'number' ? String(value) : '';
  return text.includes('e') ? 0 : (text.split('.')[1]?.length ?? 0);
}

/** A value, to be read. Whatever it is, it is text: nothing of it is ever markup. */
export function Value({
  value,
  described,
  length = CELL,
  decimals = 0,
}: {
  readonly value: unknown;
  readonly described?: Described | undefined;
  readonly length?: number;
  /** As many places are shown after the point at least. */
  readonly decimals?: number;
}): JSX.Element {
  const isEmpty = value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
  if (isEmpty) return <span class="none">{texts.none}</span>;
  if (typeof value === 'boolean') return <>{value ? texts.yes : texts.no}</>;
  if (typeof value === 'number') return <>{numberText(value, decimals)}</>;
  if (typeof value === 'string') return <TextValue text={value} described={described} length={length} />;
  if (Array.isArray(value)) {
    const words = (value as unknown[]).slice(0, 20).map(shortText).join(', ');
    return <bdi>{shortened(words, length)}</bdi>;
  }
  const file = described === undefined ? undefined : storedFileOf(value, described);
  if (file !== undefined) return <StoredFile file={file} />;
  return <bdi>{shortened(shortText(value), length)}</bdi>;
}

function numberText(value: number, decimals: number): string {
  const text = String(value);
  return text.includes('e') ? text : value.toFixed(Math.max(decimals, decimalsOf(value)));
}

function TextValue({ text, described, length }: { text: string; described: Described | undefined; length: number }) {
  if (described?.kind === 'date-time') {
    const date = new Date(text);
    if (!Number.isNaN(date.getTime())) {
      return (
        <time dateTime={text} title={text}>
          {date.toLocaleString('sv', { dateStyle: 'short', timeStyle: 'short' })}
        </time>
      );
    }
  }
  if (text.trim() === '') return <span class="none">{texts.blank}</span>;
  return <bdi>{shortened(text, length)}</bdi>;
}

/** The words of an object: its title, or else all of it. */
function shortText(value: unknown): string {
  if (!isRow(value)) return textOf(value);
  const title = value['title'] ?? value['name'] ?? value['label'];
  return typeof title === 'string' ? title : JSON.stringify(value);
}
