import type { JSX } from 'preact';
import type { Api, Resource } from './api-model.ts';
import type { Values } from './drafts.ts';
import type { Schema } from './openapi.ts';
import { isRow, type Row } from './records.ts';
import { referenceText, useReferenceTarget } from './reference-input.tsx';
import { useLabel } from './related-records.ts';
import { type Described, describe, propertiesOf } from './schema.ts';
import { texts } from '../src/texts.ts';
import { Value } from './value.tsx';
import { humanized } from './words.ts';
import { isSame } from './same-value.ts';

/** The value of a field that stays: one's own, or that of somebody else. */
export type Choice = 'mine' | 'theirs';

/** The conflict of what was entered with what somebody else has written since the record was read. */
export interface Conflict {
  /** The record as it was read before. */
  readonly before: Row;
  /** The fields that both have changed, with one's own value; the choice is undefined until somebody has made one. */
  readonly fields: Readonly<Record<string, { readonly mine: unknown; readonly choice: Choice | undefined }>>;
}

/**
 * Finds the fields that two people have given different values.
 *
 * @param changes what was to be saved
 * @param were the values that may be written, as they were read; `are` as they are now
 */
export function conflictOf(before: Row, changes: Values, were: Values, are: Values): Conflict {
  const isBoth = (name: string): boolean =>
    !isSame(were[name], are[name]) && !isSame(are[name], changes[name] instanceof File ? undefined : changes[name]);
  const fields = Object.keys(changes).filter(isBoth);
  return {
    before,
    fields: Object.fromEntries(fields.map((name) => [name, { mine: changes[name], choice: undefined }])),
  };
}

/** Tells if somebody has still to choose between two values of a field. */
export function isUndecided(conflict: Conflict | undefined): boolean {
  return Object.values(conflict?.fields ?? {}).some(({ choice }) => choice === undefined);
}

/** The fields that somebody else has changed, as they were and as they are. */
export function ChangedFields({
  api: { document },
  schema,
  before,
  now,
}: {
  readonly api: Api;
  readonly schema: Schema;
  readonly before: Row;
  readonly now: Row;
}): JSX.Element | null {
  const names = Object.keys(before).filter((name) => !isSame(before[name], now[name]));
  if (names.length === 0) return null;
  const schemas = new Map(propertiesOf(document, schema));
  return (
    <div class="changed">
      <p class="conflict">{texts.changedMeanwhile(names.map(humanized))}</p>
      <table>
        <thead>
          <tr>
            <th scope="col">{texts.fieldToChange}</th>
            <th scope="col">{texts.before}</th>
            <th scope="col">{texts.now}</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => {
            const described = describe(document, schemas.get(name), name);
            return (
              <tr key={name}>
                <th scope="row">{humanized(name)}</th>
                {[before, now].map((row, index) => (
                  <td key={index}>
                    <Value value={row[name]} described={described} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Asks which value of a field stays, with both side by side. */
export function FieldChoice({
  api,
  name,
  schema,
  values,
  choice,
  onChoose,
}: {
  readonly api: Api;
  readonly name: string;
  readonly schema: Schema;
  readonly values: Readonly<Record<Choice, unknown>>;
  readonly choice: Choice | undefined;
  readonly onChoose: (choice: Choice) => void;
}): JSX.Element {
  const described = describe(api.document, schema, name);
  return (
    <fieldset class="both">
      <legend>{texts.changedByBoth(humanized(name))}</legend>
      {(['mine', 'theirs'] as const).map((each) => (
        <label key={each}>
          <input type="radio" name={`choice-${name}`} checked={choice === each} onChange={() => onChoose(each)} />
          <span>
            <b>{texts[each]}</b>
            <ChosenValue api={api} value={values[each]} described={described} />
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface ValueProps {
  readonly api: Api;
  readonly value: unknown;
  readonly described: Described;
}

/** A value as it may be written or as it was read: a reference by the title of its record. */
function ChosenValue({ api, value, described }: ValueProps): JSX.Element {
  const item = describe(api.document, described.schema.items);
  const target = useReferenceTarget(api, described.kind === 'list' ? item : described);
  const isRead = isRow(value) || (Array.isArray(value) && value.some(isRow));
  if (value instanceof File) return <bdi>{value.name}</bdi>;
  const keys = Array.isArray(value) ? (value as unknown[]) : [value];
  if (target === undefined || isRead || value === null || keys.length === 0) {
    return <Value value={value} described={described} length={500} />;
  }
  return (
    <>
      {keys.map((key) => (
        <RecordName key={String(key)} target={target} field={fieldOf(described, item)} value={key} />
      ))}
    </>
  );
}

function fieldOf({ kind, schema }: Described, item: Described): string {
  return (kind === 'list' ? item.schema : schema)['x-reference']!.field;
}

function RecordName({ target, field, value }: { target: Resource; field: string; value: unknown }): JSX.Element {
  const [label] = useLabel(target, field, value);
  return <bdi>{referenceText(value, label)}</bdi>;
}
