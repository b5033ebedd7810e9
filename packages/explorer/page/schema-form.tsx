import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Api } from './api-model.ts';
import { Refusal } from './exchanges.ts';
import { Field } from './field.tsx';
import { type FormFacts, pointerTo } from './form-facts.ts';
import { Faults } from './faults.tsx';
import type { Schema } from './openapi.ts';
import { describe, initialValue, propertiesOf } from './schema.ts';
import { texts } from '../src/texts.ts';

export type Values = Readonly<Record<string, unknown>>;

interface SchemaFormProps {
  readonly api: Api;
  readonly schema: Schema;
  /** What the form is for: the ids of its fields begin with it. */
  readonly purpose: string;
  /** What the fields begin with. Default: the schema's own defaults. */
  readonly initial?: Values;
  /** True if a field that is emptied has to be told to the server. */
  readonly isUpdate?: boolean;
  readonly submitLabel: string;
  /** Throws a Refusal, whose details are shown beside their fields. */
  readonly onSubmit: (values: Values) => Promise<void>;
  readonly children?: ComponentChildren;
  /** Makes further buttons, after that which submits. They may send something else in the same way. */
  readonly buttons?: (submit: (send: () => Promise<void>) => void) => ComponentChildren;
}

/** A form made of a schema, with the server's messages beside their fields; also as JSON, for whatever no field can say. */
export function SchemaForm(props: SchemaFormProps): JSX.Element {
  const { api, schema, purpose, isUpdate = false, submitLabel, children, buttons } = props;
  const [values, setValues] = useState<Values>(() => props.initial ?? defaultsOf(api, schema));
  const [json, setJson] = useState<string>();
  const form = useRef<HTMLFormElement>(null);
  const { refusal, setRefusal, isSending, submit } = useSubmit(form);
  const isAlone = purpose === 'new' || purpose === 'action';
  useEffect(() => {
    if (isAlone) form.current?.querySelector<HTMLElement>('input, select, textarea')?.focus();
  }, []);
  const details = refusal?.details;
  const facts = useMemo<FormFacts>(() => ({ api, purpose, isUpdate, details: details ?? [] }), [api, details]);
  const toggleJson = (): void => {
    const read = json === undefined ? undefined : readObject(json);
    if (read instanceof Refusal) return setRefusal(read);
    setRefusal(undefined);
    if (read !== undefined) setValues(read);
    setJson(read === undefined ? JSON.stringify(values, undefined, 2) : undefined);
  };
  const names = propertiesOf(api.document, schema).map(([name]) => name);
  return (
    <form
      ref={form}
      class="form"
      noValidate
      aria-busy={isSending}
      onSubmit={(event) => {
        event.preventDefault();
        const read = json === undefined ? values : readObject(json);
        if (read instanceof Refusal) setRefusal(read);
        else void submit(() => props.onSubmit(read));
      }}
    >
      {refusal !== undefined && <Faults refusal={refusal} shown={json === undefined ? names : []} />}
      {json === undefined ? (
        <Fields facts={facts} schema={schema} values={values} onChange={setValues} />
      ) : (
        <JsonField id={`${purpose}-json`} text={json} onChange={setJson} />
      )}
      {children}
      <div class="buttons">
        <button class="primary" disabled={isSending}>
          {isSending ? texts.saving : submitLabel}
        </button>
        {buttons?.((send) => void submit(send))}
        {purpose !== 'login' && (
          <button type="button" class="plain as-json" onClick={toggleJson}>
            {json === undefined ? texts.asJson : texts.asForm}
          </button>
        )}
      </div>
    </form>
  );
}

/** Sends what a form holds, once at a time, and keeps the refusal; whoever is at the keyboard is then led to the first fault. */
function useSubmit(form: RefObject<HTMLFormElement | null>) {
  const [refusal, setRefusal] = useState<Refusal>();
  const [isSending, setSending] = useState(false);
  const submit = async (send: () => Promise<void>): Promise<void> => {
    if (isSending) return;
    setRefusal(undefined);
    setSending(true);
    try {
      await send();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
      // The message is there once it is rendered.
      setTimeout(() => {
        const wrong = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
        (wrong ?? form.current?.querySelector<HTMLElement>('.faults'))?.focus();
      });
    } finally {
      setSending(false);
    }
  };
  return { refusal, setRefusal, isSending, submit };
}

function Fields({
  facts,
  schema,
  values,
  onChange,
}: {
  readonly facts: FormFacts;
  readonly schema: Schema;
  readonly values: Values;
  readonly onChange: (change: (before: Values) => Values) => void;
}): JSX.Element {
  const { document } = facts.api;
  const required = new Set(describe(document, schema).schema.required ?? []);
  return (
    <>
      {propertiesOf(document, schema).map(([name, property]) => (
        <Field
          key={name}
          facts={facts}
          name={name}
          pointer={pointerTo('', name)}
          schema={property}
          required={required.has(name)}
          value={values[name]}
          onChange={(value) => onChange((before) => ({ ...before, [name]: value }))}
        />
      ))}
    </>
  );
}

function JsonField({
  id,
  text,
  onChange,
}: {
  readonly id: string;
  readonly text: string;
  readonly onChange: (text: string) => void;
}): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{texts.asJsonLabel}</label>
      <textarea
        id={id}
        class="code"
        rows={14}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </div>
  );
}

function defaultsOf(api: Api, schema: Schema): Values {
  const entries = propertiesOf(api.document, schema).map(
    ([name, property]) => [name, initialValue(api.document, property)] as const,
  );
  const required = new Set(describe(api.document, schema).schema.required ?? []);
  // An optional list or object that nobody touches is not sent.
  const isSaid = (name: string, value: unknown): boolean =>
    value !== undefined && (required.has(name) || typeof value !== 'object' || Object.keys(value as object).length > 0);
  return Object.fromEntries(entries.filter(([name, value]) => isSaid(name, value)));
}

function readObject(text: string): Values | Refusal {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Values;
    return new Refusal(400, 'no_object', texts.noObject);
  } catch (error) {
    return new Refusal(400, 'no_json', texts.wrongJson((error as Error).message));
  }
}
