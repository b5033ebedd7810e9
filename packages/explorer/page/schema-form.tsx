import { type ComponentChildren, Fragment, type JSX, type RefObject } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Api } from './api-model.ts';
import type { Draft, Entered, Values } from './drafts.ts';
import { Refusal, sentenceOf } from './exchanges.ts';
import { Field } from './field.tsx';
import { ACCOUNT_PURPOSES, type FormFacts, pointerTo } from './form-facts.ts';
import { Faults } from './faults.tsx';
import { notice } from './notice.tsx';
import type { Schema } from './openapi.ts';
import { isRow } from './records.ts';
import { describe, initialValue, propertiesOf } from './schema.ts';
import { texts } from '../src/texts.ts';
import { useSlow } from './use-slow.ts';
import { valueAt } from './json-pointer.ts';
import { isSame } from './same-value.ts';

interface SchemaFormProps {
  readonly api: Api;
  readonly schema: Schema;
  /** What the form is for: the ids of its fields begin with it. */
  readonly purpose: string;
  /** Keeps what is entered. */
  readonly draft: Pick<Draft, 'edits' | 'json' | 'isRestored' | 'enter' | 'forget'>;
  /** What the fields begin with. Default: the schema's own defaults. */
  readonly initial?: Values | undefined;
  /** True if a field that is emptied has to be told to the server. */
  readonly isUpdate?: boolean;
  readonly submitLabel: string;
  readonly isDangerous?: boolean;
  /** Is called when somebody sends the form, whatever becomes of it. */
  readonly onSend?: () => void;
  /** Throws a Refusal, whose details are shown beside their fields. */
  readonly onSubmit: (values: Values) => Promise<void>;
  /** Is called when somebody reads the record anew, which forgets what was entered; undefined if there is none to read. */
  readonly onReload?: () => void;
  /** Gives up what the form is for; undefined if there is no way to. */
  readonly onCancel?: (() => void) | undefined;
  readonly children?: ComponentChildren;
  /** What stands below a field, by its name. */
  readonly below?: (name: string) => ComponentChildren;
}

/** A form made of a schema, with the server's messages beside their fields; also as JSON, for whatever no field can say. */
export function SchemaForm(props: SchemaFormProps): JSX.Element {
  const { api, schema, purpose, draft, isUpdate = false, children } = props;
  const { json } = draft;
  const { values, change, read, toggleJson } = useEntered(props);
  const form = useRef<HTMLFormElement>(null);
  const { refusal: refused, setRefusal, isSending, submit } = useSubmit(form, values);
  useLayoutEffect(() => {
    const isAlone = purpose === 'new' || purpose === 'action';
    if (isAlone) form.current?.querySelector<HTMLElement>('input, select, textarea')?.focus();
  }, []);
  const refusal = useMemo(() => refused && outstanding(refused.refusal, refused.values, values), [refused, values]);
  const details = refusal?.details;
  const names = propertiesOf(api.document, schema).map(([name]) => name);
  const required = new Set(describe(api.document, schema).schema.required ?? []);
  const isAllRequired = ACCOUNT_PURPOSES.has(purpose) && names.every((name) => required.has(name));
  const facts = useMemo<FormFacts>(
    () => ({ api, purpose, isUpdate, isAllRequired, details: details ?? [] }),
    [api, details, isAllRequired],
  );
  const forget = (): void => {
    setRefusal(undefined);
    draft.forget();
  };
  return (
    <form
      ref={form}
      class="form"
      noValidate
      aria-busy={isSending}
      onSubmit={(event) => {
        event.preventDefault();
        props.onSend?.();
        const found = read();
        if (found instanceof Refusal) setRefusal(found);
        else void submit(() => props.onSubmit(found));
      }}
    >
      {refusal !== undefined && (
        <Faults refusal={refusal} shown={json === undefined ? names : []} isLogin={purpose === 'login'} />
      )}
      {refusal === undefined && draft.isRestored && isEntered(draft) && (
        <Restored onForget={props.onReload === undefined ? forget : undefined} />
      )}
      {json === undefined ? (
        <Fields facts={facts} schema={schema} values={values} onChange={change} below={props.below} />
      ) : (
        <JsonField
          id={`${purpose}-json`}
          text={json}
          onChange={(text) => draft.enter(({ edits }) => ({ edits, json: text }))}
        />
      )}
      {children}
      <FormButtons {...props} isSending={isSending} onForget={forget} onToggleJson={() => setRefusal(toggleJson())} />
    </form>
  );
}

/** Says that what was entered before is still there; it can be thrown away here where the form has no other way to. */
function Restored({ onForget }: { readonly onForget: (() => void) | undefined }): JSX.Element {
  return (
    <p class="restored" role="status">
      {texts.restored}
      {onForget !== undefined && (
        <button type="button" class="plain small" onClick={onForget}>
          {texts.startAgain}
        </button>
      )}
    </p>
  );
}

interface FormButtonsProps extends SchemaFormProps {
  readonly isSending: boolean;
  readonly onForget: () => void;
  readonly onToggleJson: () => void;
}

function FormButtons(props: FormButtonsProps): JSX.Element {
  const { purpose, draft, submitLabel, isSending, onReload, onForget, onToggleJson } = props;
  const isSlow = useSlow(isSending);
  return (
    <>
      <div class="buttons">
        <button class={props.isDangerous === true ? 'danger' : 'primary'} aria-disabled={isSending}>
          {isSending ? texts.saving : submitLabel}
        </button>
        {onReload !== undefined && (
          <button
            type="button"
            onClick={() => {
              onForget();
              onReload();
            }}
          >
            {isEntered(draft) ? texts.discard : texts.reload}
          </button>
        )}
        {props.onCancel !== undefined && (
          <button type="button" onClick={props.onCancel}>
            {texts.cancel}
          </button>
        )}
        {!ACCOUNT_PURPOSES.has(purpose) && (
          <button type="button" class="plain as-json" onClick={onToggleJson}>
            {draft.json === undefined ? texts.asJson : texts.asForm}
          </button>
        )}
      </div>
      <p class="hint slow" role="status">
        {isSlow && texts.slow}
      </p>
    </>
  );
}

function isEntered({ edits, json }: Entered): boolean {
  return json !== undefined || Object.keys(edits).length > 0;
}

/** The values of a form: those that it began with, and over them what was entered, in its fields or as JSON. */
function useEntered({ api, schema, draft, initial: given }: SchemaFormProps) {
  const defaults = useMemo(() => defaultsOf(api, schema), [api, schema]);
  const initial = given ?? defaults;
  const values: Values = { ...initial, ...draft.edits };
  const change = (next: (before: Values) => Values): void =>
    draft.enter(({ edits }) => ({ edits: editsOf(initial, next({ ...initial, ...edits })), json: undefined }));
  const read = (): Values | Refusal => (draft.json === undefined ? values : readObject(draft.json, values));
  const toggleJson = (): Refusal | undefined => {
    const found = read();
    if (found instanceof Refusal) return found;
    if (draft.json === undefined) {
      draft.enter(({ edits }) => ({ edits, json: JSON.stringify(withoutFiles(values), undefined, 2) }));
    } else {
      change((before) => ({ ...Object.fromEntries(Object.keys(before).map((name) => [name, undefined])), ...found }));
    }
    return undefined;
  };
  return { values, change, read, toggleJson };
}

/** A refusal, and the values that stood in the form when it came. */
interface Refused {
  readonly refusal: Refusal;
  readonly values: Values;
}

/** Leaves out of a refusal the faults of places that have another value by now; undefined if nothing is left of it. */
function outstanding(refusal: Refusal, refused: Values, values: Values): Refusal | undefined {
  const { status, code, message, details, retrySeconds } = refusal;
  const left = details.filter(({ path }) => isSame(valueAt(refused, path), valueAt(values, path)));
  if (left.length === details.length) return refusal;
  return left.length === 0 ? undefined : new Refusal(status, code, message, left, retrySeconds);
}

/** Sends what a form holds, once at a time, and keeps the refusal; whoever is at the keyboard is then led to the first fault. */
function useSubmit(form: RefObject<HTMLFormElement | null>, values: Values) {
  const [refusal, setRefused] = useState<Refused>();
  const latest = useRef(values);
  latest.current = values;
  const setRefusal = (found: Refusal | undefined): void =>
    setRefused(found && { refusal: found, values: latest.current });
  const [isSending, setSending] = useState(false);
  const submit = async (send: () => Promise<void>): Promise<void> => {
    if (isSending) return;
    setRefusal(undefined);
    setSending(true);
    try {
      await send();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // Whoever has gone on to another page hears of it there.
      if (form.current === null) notice.set(texts.refusedMeanwhile(sentenceOf(error)));
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

/** The values that are others than those that a form began with. */
function editsOf(initial: Values, values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => !isSame(value, initial[name])));
}

/** What JSON can say of values: their files stay aside. */
function withoutFiles(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !(value instanceof File)));
}

function Fields({
  facts,
  schema,
  values,
  onChange,
  below,
}: {
  readonly facts: FormFacts;
  readonly schema: Schema;
  readonly values: Values;
  readonly onChange: (change: (before: Values) => Values) => void;
  readonly below: SchemaFormProps['below'];
}): JSX.Element {
  const { document } = facts.api;
  const required = new Set(describe(document, schema).schema.required ?? []);
  return (
    <>
      {propertiesOf(document, schema).map(([name, property]) => (
        <Fragment key={name}>
          <Field
            facts={facts}
            name={name}
            pointer={pointerTo('', name)}
            schema={property}
            required={required.has(name)}
            value={values[name]}
            onChange={(value) => onChange((before) => ({ ...before, [name]: value }))}
          />
          {below?.(name)}
        </Fragment>
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

/** Reads the body that somebody has written as JSON; files that were chosen before, and that it does not replace, go with it. */
function readObject(text: string, values: Values): Values | Refusal {
  try {
    const value: unknown = JSON.parse(text);
    const files = Object.entries(values).filter(([, each]) => each instanceof File);
    if (isRow(value)) return { ...Object.fromEntries(files), ...value };
    return new Refusal(400, 'no_object', texts.noObject);
  } catch (error) {
    return new Refusal(400, 'no_json', texts.wrongJson((error as Error).message));
  }
}
