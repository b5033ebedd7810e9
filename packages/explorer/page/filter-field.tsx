import type { InputHTMLAttributes, JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Api } from './api-model.ts';
import { conditionFields, readCondition } from './condition.ts';
import { ConditionBuilder } from './condition-builder.tsx';
import type { Detail } from './exchanges.ts';
import { isJson, schemaOf, takesSeveral } from './list-query.ts';
import type { Parameter } from './openapi.ts';
import { textOf } from './records.ts';
import { ReferenceInput } from './reference-input.tsx';
import { type Described, describe } from './schema.ts';
import { texts } from '../src/texts.ts';
import { humanized } from './words.ts';

interface FilterFieldProps {
  readonly api: Api;
  readonly parameter: Parameter;
  /** The values of the parameter in the URL. */
  readonly values: readonly string[];
  readonly details: readonly Detail[];
  readonly onChange: (values: readonly string[]) => void;
}

/** The control of a filter, after the type of its parameter. */
export function FilterField(props: FilterFieldProps): JSX.Element {
  const { api, parameter, details, values } = props;
  const described = describe(api.document, schemaOf(parameter), parameter.name);
  const id = `filter-${parameter.name}`;
  const isSeveral = takesSeveral(parameter);
  const [isAdding, setAdding] = useState(false);
  const isMore = isSeveral && (isAdding || values.length > 1);
  const hint = hintOf(parameter, described, isMore ? values : []);
  const aria = {
    'aria-describedby': [hint === undefined ? [] : `${id}-hint`, details.length === 0 ? [] : `${id}-faults`]
      .flat()
      .join(' '),
    'aria-invalid': details.length === 0 ? undefined : ('true' as const),
    'aria-required': undefined,
  };
  const change = (text: string): void => {
    setAdding(false);
    if (!isMore) props.onChange([text]);
    else if (text !== '') props.onChange([...new Set([...values, text])]);
  };
  return (
    <div class={`field${isJson(parameter) ? ' wide' : ''}${details.length > 0 ? ' wrong' : ''}`}>
      <label for={id}>{isJson(parameter) ? texts.condition : humanized(parameter.name)}</label>
      <div class="input">
        <FilterInput
          key={String(isMore)}
          api={api}
          parameter={parameter}
          id={id}
          described={described}
          aria={aria}
          text={isMore ? '' : (values[0] ?? '')}
          onChange={change}
        />
        {isSeveral && values.length > 0 && !isMore && (
          <button type="button" class="plain small" onClick={() => setAdding(true)}>
            {texts.orAnother}
          </button>
        )}
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

/** The words below a filter. What is said of several values is said by the control. */
function hintOf(parameter: Parameter, { kind }: Described, several: readonly string[]): string | undefined {
  if (several.length > 0) return texts.several(several);
  if (takesSeveral(parameter) || isJson(parameter)) return undefined;
  const { description } = parameter;
  return kind === 'list' ? [description, texts.commaSeparated].filter(Boolean).join('. ') : description;
}

interface InputProps extends Pick<FilterFieldProps, 'api' | 'parameter'> {
  readonly id: string;
  readonly described: Described;
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly aria: {
    readonly 'aria-describedby': string;
    readonly 'aria-invalid': 'true' | undefined;
    readonly 'aria-required': undefined;
  };
}

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
  if (isJson(parameter)) {
    return <ConditionInput api={api} parameter={parameter} id={id} aria={aria} text={text} onChange={onChange} />;
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
  return <TextFilter id={id} described={described} aria={aria} text={text} onChange={onChange} />;
}

/** A condition by lines, or by its text: the one that its builder cannot show, and on demand. */
function ConditionInput({ api, parameter, id, aria, text, onChange }: Omit<InputProps, 'described'>): JSX.Element {
  const [isText, setText] = useState(false);
  const fields = useMemo(() => conditionFields(api.document, parameter), [api, parameter]);
  const condition = readCondition(text);
  const canBuild =
    fields.length > 0 && condition?.terms.every(({ field }) => fields.some(({ name }) => name === field)) === true;
  return (
    <>
      {isText || !canBuild ? (
        <ConditionText id={id} aria={aria} text={text} onChange={onChange} />
      ) : (
        <ConditionBuilder api={api} id={id} fields={fields} condition={condition} onChange={onChange} />
      )}
      {canBuild && (
        <button type="button" class="plain small" onClick={() => setText(!isText)}>
          {isText ? texts.asForm : texts.asJson}
        </button>
      )}
    </>
  );
}

function ConditionText({ id, aria, text, onChange }: Pick<InputProps, 'id' | 'aria' | 'text' | 'onChange'>) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  return (
    <textarea
      id={id}
      class="code"
      rows={3}
      spellcheck={false}
      value={typed}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      onBlur={() => typed.trim() !== text && onChange(typed.trim())}
      {...aria}
    />
  );
}

function TextFilter({
  id,
  described: { kind },
  aria,
  text,
  onChange,
}: Pick<InputProps, 'id' | 'described' | 'aria' | 'text' | 'onChange'>): JSX.Element {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  const commit = (value: string): void => {
    if (value !== text) onChange(value);
  };
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
