import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Api } from './api-model.ts';
import {
  type Comparison,
  type Condition,
  type ConditionField,
  conditionFields,
  readCondition,
  type Term,
  writeCondition,
} from './condition.ts';
import { ariaOf } from './form-facts.ts';
import { Input } from './input.tsx';
import type { Parameter } from './openapi.ts';
import { textOf } from './records.ts';
import { type Described, describe } from './schema.ts';
import { texts } from '../src/texts.ts';
import { dayText } from './value.tsx';
import { humanized } from './words.ts';

function isTime({ kind }: Described): boolean {
  return kind === 'date' || kind === 'date-time';
}

interface BuilderProps {
  readonly api: Api;
  readonly id: string;
  readonly fields: readonly ConditionField[];
  readonly condition: Condition;
  readonly onChange: (text: string) => void;
}

/** A condition as lines of a field, a comparison and a value. Those that have a value are sent. */
export function ConditionBuilder(props: BuilderProps): JSX.Element {
  const { api, id, fields, condition, onChange } = props;
  const [edited, setEdited] = useState(condition);
  const text = writeCondition(condition);
  useEffect(() => {
    if (writeCondition(conditionOf(edited)) !== text) setEdited(condition);
  }, [text]);
  const edit = (next: Condition): void => {
    setEdited(next);
    if (writeCondition(conditionOf(next)) !== text) onChange(writeCondition(conditionOf(next)));
  };
  const { joint, terms } = edited;
  const editTerm = (at: number, term: Term | undefined): void =>
    edit({
      joint,
      terms: terms.flatMap((each, index) => (index === at ? (term === undefined ? [] : [term]) : [each])),
    });
  return (
    <div class="condition" id={id} role="group" aria-label={texts.condition}>
      {terms.length > 1 && (
        <select
          aria-label={texts.joint}
          value={joint}
          onChange={({ currentTarget }) => edit({ joint: currentTarget.value as Condition['joint'], terms })}
        >
          <option value="and">{texts.allOf}</option>
          <option value="or">{texts.anyOf}</option>
        </select>
      )}
      {terms.map((term, index) => (
        <TermLine
          key={index}
          api={api}
          id={`${id}-${index}`}
          fields={fields}
          term={term}
          onChange={(changed) => editTerm(index, changed)}
        />
      ))}
      <button
        type="button"
        class="small"
        onClick={() =>
          setEdited({
            joint,
            terms: [...terms, { field: fields[0]!.name, comparison: fields[0]!.comparisons[0]!, value: undefined }],
          })
        }
      >
        {texts.addCondition}
      </button>
    </div>
  );
}

/** The condition without the lines that are not finished. */
function conditionOf({ joint, terms }: Condition): Condition {
  return { joint, terms: terms.filter(({ value }) => textOf(value) !== '') };
}

interface TermProps {
  readonly fields: readonly ConditionField[];
  readonly term: Term;
  readonly onChange: (term: Term | undefined) => void;
}

function TermLine({
  api,
  id,
  fields,
  term,
  onChange,
}: TermProps & { readonly api: Api; readonly id: string }): JSX.Element {
  const field = fields.find(({ name }) => name === term.field) ?? fields[0]!;
  const described = { ...describe(api.document, field.schema, field.name), nullable: false };
  const [typed, setTyped] = useState(term.value);
  useEffect(() => setTyped(term.value), [term.value]);
  const isTyped = ['text', 'long text', 'integer', 'number'].includes(described.kind);
  const commit = (value: unknown): void => {
    if (value !== term.value) onChange({ ...term, value });
  };
  return (
    <div class="term" onFocusOut={() => commit(typed)} onKeyDown={({ key }) => key === 'Enter' && commit(typed)}>
      <Comparing api={api} fields={fields} field={field} term={term} onChange={onChange} />
      <Input
        key={field.name}
        facts={{ api, purpose: 'condition', isUpdate: false, details: [] }}
        id={id}
        name={field.name}
        described={described}
        required
        value={typed}
        onChange={(value) => (isTyped ? setTyped(value) : commit(value))}
        aria={{ 'aria-label': texts.conditionValue, ...ariaOf(id, []) }}
      />
      <button type="button" class="plain small" aria-label={texts.removeCondition} onClick={() => onChange(undefined)}>
        ×
      </button>
    </div>
  );
}

/** The field of a line, and how it is compared. */
function Comparing({
  api,
  fields,
  field,
  term,
  onChange,
}: TermProps & { readonly api: Api; readonly field: ConditionField }): JSX.Element {
  return (
    <>
      <select
        aria-label={texts.conditionField}
        value={field.name}
        onChange={({ currentTarget }) => {
          const next = fields.find(({ name }) => name === currentTarget.value)!;
          const isKept = next.comparisons.includes(term.comparison);
          onChange({ field: next.name, comparison: isKept ? term.comparison : next.comparisons[0]!, value: undefined });
        }}
      >
        {fields.map(({ name }) => (
          <option key={name} value={name}>
            {humanized(name)}
          </option>
        ))}
      </select>
      <select
        aria-label={texts.comparison}
        value={term.comparison}
        onChange={({ currentTarget }) => onChange({ ...term, comparison: currentTarget.value as Comparison })}
      >
        {field.comparisons.map((each) => (
          <option key={each} value={each}>
            {comparisonText(each, isTime(describe(api.document, field.schema)))}
          </option>
        ))}
      </select>
    </>
  );
}

/** The words for a comparison, of times or of other values. */
function comparisonText(comparison: Comparison, isOfTimes: boolean): string {
  const times: Partial<Record<Comparison, string>> = texts.timeComparisons;
  return (isOfTimes ? times[comparison] : undefined) ?? texts.comparisons[comparison];
}

/** A condition in words. */
export function conditionText({ document }: Api, parameter: Parameter, text: string): string {
  const condition = readCondition(text);
  if (condition === undefined) return text;
  const fields = conditionFields(document, parameter);
  const terms = condition.terms.map(({ field, comparison, value }) => {
    const described = describe(document, fields.find(({ name }) => name === field)?.schema);
    const words = described.kind === 'date' ? dayText(textOf(value)) : textOf(value);
    return `${humanized(field)} ${comparisonText(comparison, isTime(described))} ${words}`;
  });
  return terms.join(` ${condition.joint === 'or' ? texts.or : texts.and} `);
}
