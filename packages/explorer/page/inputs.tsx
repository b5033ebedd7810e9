import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ACCOUNT_PURPOSES, type InputProps } from './form-facts.ts';
import { textOf } from './records.ts';
import { isOfDigits } from './schema.ts';
import { StoredFile, storedFileOf, type StoredFileValue } from './stored-file.tsx';
import { texts } from '../src/texts.ts';
import { humanized } from './words.ts';

/** The value of a field that has been emptied: null where there may be one; nothing, where the server fills it in. */
export function emptied({ described, facts, required }: InputProps): unknown {
  if (described.nullable) return null;
  return facts.isUpdate || required ? '' : undefined;
}

export function TextInput(props: InputProps): JSX.Element {
  const { id, described, value, onChange, aria } = props;
  const text = textOf(value);
  // A control that changed its kind while somebody types would lose the place where they are.
  const [isLong] = useState(described.kind === 'long text' || text.length > 200 || text.includes('\n'));
  const set = (given: string): void => onChange(given === '' ? emptied(props) : given);
  if (isLong) {
    return (
      <textarea
        id={id}
        rows={Math.min(12, Math.max(2, text.slice(0, 4000).split('\n').length, Math.ceil(text.length / 90)))}
        value={text}
        dir="auto"
        placeholder={value === null ? texts.noValue : undefined}
        onInput={({ currentTarget }) => set(currentTarget.value)}
        {...aria}
      />
    );
  }
  return (
    <input
      id={id}
      {...({ type: inputType(props) } as { type: 'text' })}
      value={text}
      dir="auto"
      autocomplete={autocompleteOf(props)}
      inputMode={isOfDigits(described.schema) ? 'numeric' : undefined}
      placeholder={value === null ? texts.noValue : undefined}
      onInput={({ currentTarget }) => set(currentTarget.value)}
      {...aria}
    />
  );
}

function inputType({ described, name }: InputProps): 'text' | 'email' | 'password' | 'date' {
  if (described.kind === 'password' || described.kind === 'date') return described.kind;
  return described.schema.format === 'email' || name === 'email' ? 'email' : 'text';
}

/** Tells browsers and password managers what a field is for; only the forms of accounts are about the person themselves. */
function autocompleteOf({ facts: { purpose }, name, described: { kind } }: InputProps): string {
  if (!ACCOUNT_PURPOSES.has(purpose)) return kind === 'password' ? 'new-password' : 'off';
  const isNew = purpose === 'register' || name === 'new_password';
  if (kind === 'password') return isNew ? 'new-password' : 'current-password';
  return { email: 'username', new_email: 'email', code: 'one-time-code', name: 'name' }[name] ?? 'off';
}

/** A number is typed as text: what is none goes to the server as it is, which says what it wants there. */
export function NumberInput(props: InputProps): JSX.Element {
  const { id, value, described, onChange, aria } = props;
  const [text, setText] = useState(textOf(value));
  const number = readNumber(text);
  const isOurs = Object.is(value, number) || value === text || (text === '' && (value ?? '') === '');
  return (
    <input
      id={id}
      class="number"
      inputMode={described.kind === 'integer' ? 'numeric' : 'decimal'}
      autocomplete="off"
      value={isOurs ? text : textOf(value)}
      placeholder={value === null ? texts.noValue : undefined}
      onInput={({ currentTarget }) => {
        setText(currentTarget.value);
        onChange(currentTarget.value.trim() === '' ? emptied(props) : readNumber(currentTarget.value));
      }}
      {...aria}
    />
  );
}

/** The number that a text is; the text itself, if it is none that JavaScript can hold. */
function readNumber(text: string): number | string {
  const trimmed = text.trim();
  if (!/^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(trimmed)) return text;
  const number = Number(trimmed);
  const isHeld = Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
  return isHeld ? number : text;
}

export function ChoiceInput(props: InputProps): JSX.Element {
  const { id, described, required, value, onChange, aria } = props;
  const isBoolean = described.kind === 'boolean';
  if (isBoolean && !described.nullable && (required || value !== undefined)) {
    return (
      <input
        id={id}
        type="checkbox"
        checked={value === true}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        {...aria}
      />
    );
  }
  const choices = isBoolean ? [true, false] : described.choices;
  const place = choices.findIndex((choice) => choice === value);
  return (
    <select
      id={id}
      value={place === -1 ? '' : String(place)}
      onChange={({ currentTarget }) =>
        onChange(
          currentTarget.value === '' ? (described.nullable ? null : undefined) : choices[Number(currentTarget.value)],
        )
      }
      {...aria}
    >
      {(place === -1 || described.nullable || !required) && (
        <option value="">{described.nullable ? texts.noValue : required ? texts.choose : texts.notSet}</option>
      )}
      {choices.map((choice, index) => (
        <option key={String(choice)} value={String(index)}>
          {isBoolean ? (choice === true ? texts.yes : texts.no) : String(choice)}
        </option>
      ))}
    </select>
  );
}

/** An instant, in the time of the place where the page is looked at. */
export function DateTimeInput(props: InputProps): JSX.Element {
  const { id, value, onChange, aria } = props;
  const date = typeof value === 'string' ? new Date(value) : undefined;
  const isDate = date !== undefined && !Number.isNaN(date.getTime());
  return (
    <input
      id={id}
      type="datetime-local"
      step="1"
      value={isDate ? localText(date) : ''}
      onChange={({ currentTarget }) => {
        const changed = currentTarget.value === '' ? undefined : new Date(currentTarget.value);
        onChange(changed === undefined ? emptied(props) : changed.toISOString());
      }}
      {...aria}
    />
  );
}

function localText(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** A file: that which is there, and one to take its place, with a look at it if it is a picture. */
export function FileInput(props: InputProps): JSX.Element {
  const { id, name, described, value, onChange, aria } = props;
  const lastStored = useRef<StoredFileValue | undefined>(undefined);
  lastStored.current = storedFileOf(value, described) ?? lastStored.current;
  const stored = lastStored.current;
  const input = useRef<HTMLInputElement>(null);
  const chosen = value instanceof File ? value : undefined;
  // The control itself does not know what was chosen before it was drawn, nor that it was sent.
  useLayoutEffect(() => {
    if (input.current === null || input.current.files?.[0] === chosen) return;
    const files = new DataTransfer();
    if (chosen !== undefined) files.items.add(chosen);
    input.current.files = files.files;
  }, [chosen]);
  const preview = usePreview(chosen);
  return (
    <>
      {stored !== undefined && value === stored && (
        <div class="stored">
          <StoredFile file={stored} isFull />
          {described.nullable && (
            <button type="button" class="plain small" onClick={() => onChange(null)}>
              {texts.remove(humanized(name))}
            </button>
          )}
        </div>
      )}
      {stored !== undefined && value === null && (
        <p class="hint">
          {texts.fileGoes(stored.name)}{' '}
          <button type="button" class="plain small" onClick={() => onChange(stored)}>
            {texts.keepFile}
          </button>
        </p>
      )}
      <input
        ref={input}
        id={id}
        type="file"
        accept={described.schema.contentMediaType}
        onChange={({ currentTarget }) => onChange(currentTarget.files?.[0] ?? stored)}
        {...aria}
      />
      {preview !== undefined && <img class="preview" src={preview} alt={texts.previewOf(humanized(name))} />}
    </>
  );
}

/** Makes an address of a picture that was chosen; undefined of any other file. */
function usePreview(file: File | undefined): string | undefined {
  const [preview, setPreview] = useState<string>();
  useEffect(() => {
    if (file?.type.startsWith('image/') !== true) return setPreview(undefined);
    const url = URL.createObjectURL(file);
    setPreview(url);
    return () => URL.revokeObjectURL(url);
  }, [file]);
  return preview;
}

/** Whatever no other input can say, as JSON. A text that is none goes to the server as it is. */
export function JsonInput(props: InputProps): JSX.Element {
  const { id, name, value, onChange, aria } = props;
  const [typed, setTyped] = useState<string>();
  // What was typed stays as it was typed, until the value is another one.
  const isTyped = typed !== undefined && JSON.stringify(readJson(typed, props)) === JSON.stringify(value);
  const text = isTyped ? typed : value === undefined ? '' : JSON.stringify(value, undefined, 2);
  return (
    <textarea
      id={id}
      class="code"
      rows={Math.min(14, Math.max(2, text.slice(0, 4000).split('\n').length))}
      spellcheck={false}
      aria-label={texts.json(humanized(name))}
      value={text}
      onInput={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onChange(readJson(currentTarget.value, props));
      }}
      {...aria}
    />
  );
}

/** Reads what was typed; it is the text itself if it is no JSON. */
function readJson(text: string, props: InputProps): unknown {
  if (text.trim() === '') return emptied(props);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
