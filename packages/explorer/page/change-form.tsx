import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Api, Resource } from './api-model.ts';
import { Field } from './field.tsx';
import { notice } from './notice.tsx';
import type { Schema } from './openapi.ts';
import type { Row } from './records.ts';
import { describe, initialValue } from './schema.ts';
import { changeableFields, changeRows, type Outcome } from './several-records.ts';
import { texts } from '../src/texts.ts';
import { humanized } from './words.ts';

interface ChangeFormProps {
  readonly api: Api;
  readonly resource: Resource;
  readonly path: string;
  readonly rows: readonly Row[];
  readonly onOutcome: (outcome: Outcome) => void;
  readonly onCancel: () => void;
}

/** Gives a field of several records one value. What the server says of a record stands at its row. */
export function ChangeForm({ api, resource, path, rows, onOutcome, onCancel }: ChangeFormProps): JSX.Element {
  const fields = changeableFields(api, resource);
  const [name, setName] = useState(fields[0]?.[0] ?? '');
  const schema = fields.find(([each]) => each === name)?.[1] ?? {};
  const [value, setValue] = useState(() => startOf(api, schema));
  const [isSending, setSending] = useState(false);
  const submit = async (): Promise<void> => {
    setSending(true);
    const outcome = await changeRows({ resource, path, rows }, name, value ?? null);
    setSending(false);
    notice.set(texts.changedSome(outcome.done, rows.length - outcome.done));
    onOutcome(outcome);
  };
  return (
    <form
      class="change"
      aria-busy={isSending}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!isSending) void submit();
      }}
    >
      <FieldChoice
        names={fields.map(([each]) => each)}
        name={name}
        onChange={(chosen) => {
          setName(chosen);
          setValue(startOf(api, fields.find(([each]) => each === chosen)?.[1] ?? {}));
        }}
      />
      <Field
        key={name}
        facts={{ api, purpose: 'change', isUpdate: true, details: [] }}
        name={name}
        pointer={`/${name}`}
        schema={schema}
        required={false}
        value={value}
        onChange={setValue}
      />
      <span class="buttons">
        <button class="primary" aria-disabled={isSending}>
          {isSending ? texts.saving : texts.changeMany(rows.length)}
        </button>
        <button type="button" class="plain" onClick={onCancel}>
          {texts.cancel}
        </button>
      </span>
    </form>
  );
}

function FieldChoice({
  names,
  name,
  onChange,
}: {
  readonly names: readonly string[];
  readonly name: string;
  readonly onChange: (name: string) => void;
}): JSX.Element {
  return (
    <div class="field">
      <label for="change-field">{texts.fieldToChange}</label>
      <div class="input">
        <select id="change-field" value={name} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          {names.map((each) => (
            <option key={each} value={each}>
              {humanized(each)}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}

/** A yes or no is always one of them: the box is empty at first. */
function startOf({ document }: Api, schema: Schema): unknown {
  const { kind, choices, nullable } = describe(document, schema);
  if (kind === 'boolean' && !nullable) return false;
  return initialValue(document, schema) ?? (kind === 'choice' && !nullable ? choices[0] : undefined);
}
