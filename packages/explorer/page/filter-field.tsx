import type { InputHTMLAttributes, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Api } from './api-model.ts';
import type { Detail } from './exchanges.ts';
import { isJson, schemaOf } from './list-query.ts';
import type { Parameter } from './openapi.ts';
import { textOf } from './records.ts';
import { ReferenceInput } from './reference-input.tsx';
import { type Described, describe } from './schema.ts';
import { texts } from '../src/texts.ts';
import { humanized } from './words.ts';

interface FilterFieldProps {
  readonly api: Api;
  readonly parameter: Parameter;
  /** The text of the parameter in the URL. */
  readonly text: string;
  readonly details: readonly Detail[];
  readonly onChange: (text: string) => void;
}

/** The control of a filter, after the type of its parameter. */
export function FilterField(props: FilterFieldProps): JSX.Element {
  const { api, parameter, details } = props;
  const described = describe(api.document, schemaOf(parameter), parameter.name);
  const id = `filter-${parameter.name}`;
  const hint =
    described.kind === 'list' ? `${parameter.description ?? ''}. ${texts.commaSeparated}` : parameter.description;
  const aria = {
    'aria-describedby': [hint === undefined ? [] : `${id}-hint`, details.length === 0 ? [] : `${id}-faults`]
      .flat()
      .join(' '),
    'aria-invalid': details.length === 0 ? undefined : ('true' as const),
    'aria-required': undefined,
  };
  return (
    <div class={`field${isJson(parameter) ? ' wide' : ''}${details.length > 0 ? ' wrong' : ''}`}>
      <label for={id}>{isJson(parameter) ? texts.condition : humanized(parameter.name)}</label>
      <div class="input">
        <FilterInput {...props} id={id} described={described} aria={aria} />
        {hint !== undefined && (
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
        {details.length > 0 && (
          <p class="fault" id={`${id}-faults`}>
            {details.map(({ message }) => message).join('; ')}
          </p>
        )}
      </div>
    </div>
  );
}

type InputProps = FilterFieldProps & {
  readonly id: string;
  readonly described: Described;
  readonly aria: {
    readonly 'aria-describedby': string;
    readonly 'aria-invalid': 'true' | undefined;
    readonly 'aria-required': undefined;
  };
};

function FilterInput({ api, parameter, id, described, aria, text, onChange }: InputProps): JSX.Element {
  const { kind, choices } = described;
  if (kind === 'reference') {
    const facts = { api, purpose: 'filter', isUpdate: false, details: [] };
    return (
      <ReferenceInput
        facts={facts}
        id={id}
        name={parameter.name}
        described={described}
        required={false}
        placeholder={texts.any}
        value={text === '' ? undefined : text}
        onChange={(value) => onChange(textOf(value))}
        aria={aria}
      />
    );
  }
  if (kind === 'boolean' || kind === 'choice') {
    const values = kind === 'boolean' ? [true, false] : choices;
    return (
      <select id={id} value={text} onChange={({ currentTarget }) => onChange(currentTarget.value)} {...aria}>
        <option value="">{texts.any}</option>
        {values.map((value) => (
          <option key={String(value)} value={String(value)}>
            {kind === 'boolean' ? (value === true ? texts.yes : texts.no) : String(value)}
          </option>
        ))}
      </select>
    );
  }
  return (
    <TextFilter id={id} described={described} aria={aria} text={text} onChange={onChange} isLong={isJson(parameter)} />
  );
}

function TextFilter({
  id,
  described: { kind },
  aria,
  text,
  onChange,
  isLong,
}: Pick<InputProps, 'id' | 'described' | 'aria' | 'text' | 'onChange'> & { readonly isLong: boolean }): JSX.Element {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  const commit = (value: string): void => {
    if (value !== text) onChange(value);
  };
  if (isLong) {
    return (
      <textarea
        id={id}
        class="code"
        rows={3}
        spellcheck={false}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onBlur={() => commit(typed.trim())}
        {...aria}
      />
    );
  }
  return (
    <input
      id={id}
      {...attributesOf(kind)}
      value={kind === 'date-time' ? localText(typed) : typed}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      onChange={({ currentTarget: { value } }) =>
        commit(kind === 'date-time' && value !== '' ? new Date(value).toISOString() : value.trim())
      }
      {...aria}
    />
  );
}

function attributesOf(kind: Described['kind']): InputHTMLAttributes {
  switch (kind) {
    case 'date':
      return { type: 'date' };
    case 'date-time':
      return { type: 'datetime-local', step: '1' };
    case 'integer':
      return { type: 'text', class: 'number', inputMode: 'numeric' };
    case 'number':
      return { type: 'text', class: 'number', inputMode: 'decimal' };
    default:
      return { type: 'text', dir: 'auto' };
  }
}

/** An instant of the URL in the time of this place. */
function localText(text: string): string {
  const date = new Date(text);
  if (text === '' || Number.isNaN(date.getTime())) return text;
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
