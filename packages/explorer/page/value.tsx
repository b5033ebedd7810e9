import type { JSX } from 'preact';
import { RelativeTime } from './relative-time.tsx';
import type { HrefOfValue } from './reference-href.ts';
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
  hrefOfValue,
}: {
  readonly value: unknown;
  readonly described?: Described | undefined;
  readonly length?: number;
  /** As many places are shown after the point at least. */
  readonly decimals?: number;
  /** How the value leads to the record that it names; undefined if it names none. */
  readonly hrefOfValue?: HrefOfValue | undefined;
}): JSX.Element {
  const isEmpty = value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
  if (isEmpty) return <span class="none">{texts.none}</span>;
  if (hrefOfValue !== undefined) return <Linked value={value} hrefOfValue={hrefOfValue} length={length} />;
  if (typeof value === 'boolean') {
    return <span class={`badge ${value ? 'tone-yes' : 'tone-no'}`}>{value ? texts.yes : texts.no}</span>;
  }
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

/** Values that name records, each with its record's address. */
function Linked({
  value,
  hrefOfValue,
  length,
}: {
  readonly value: unknown;
  readonly hrefOfValue: HrefOfValue;
  readonly length: number;
}): JSX.Element {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return (
    <>
      {items.slice(0, 20).map((each, index) => {
        const href = hrefOfValue(each);
        const text = <bdi>{shortened(shortText(each), length)}</bdi>;
        return (
          <span key={index}>
            {index > 0 && ', '}
            {href === undefined ? text : <a href={href}>{text}</a>}
          </span>
        );
      })}
    </>
  );
}

/** The number of colours of badges, each value of an enumeration has its own as long as there are enough. */
const TONES = 6;

function TextValue({ text, described, length }: { text: string; described: Described | undefined; length: number }) {
  const { kind } = described ?? {};
  if ((kind === 'date' || kind === 'date-time') && !Number.isNaN(Date.parse(text))) {
    return kind === 'date-time' ? <RelativeTime time={text} /> : <time dateTime={text}>{dayText(text)}</time>;
  }
  if (text.trim() === '') return <span class="none">{texts.blank}</span>;
  if (kind === 'choice') {
    return (
      <span class={`badge tone-${described!.choices.indexOf(text) % TONES}`}>
        <bdi>{shortened(text, length)}</bdi>
      </span>
    );
  }
  if (/^#(?:[\da-f]{3}|[\da-f]{6})$/i.test(text)) {
    return (
      <>
        <span class="swatch" style={{ background: text }} aria-hidden="true" /> <code>{text}</code>
      </>
    );
  }
  return <bdi>{shortened(text, length)}</bdi>;
}

/** A day as the browser writes it, wherever that is. */
export function dayText(text: string): string {
  return new Date(text).toLocaleDateString(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
}

/** The words of an object: its title, or else all of it. */
function shortText(value: unknown): string {
  if (!isRow(value)) return textOf(value);
  const title = value['title'] ?? value['name'] ?? value['label'];
  return typeof title === 'string' ? title : JSON.stringify(value);
}
