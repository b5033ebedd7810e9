import type { JSX } from 'preact';
import type { Api } from './api-model.ts';
import type { Detail } from './exchanges.ts';
import { ChoiceInput, DateTimeInput, FileInput, JsonInput, NumberInput, TextInput } from './inputs.tsx';
import type { Schema } from './openapi.ts';
import { ReferenceInput } from './reference-input.tsx';
import { type Described, describe, initialValue, propertiesOf } from './schema.ts';
import { texts } from './texts.ts';
import { humanized } from './words.ts';

/** What the fields of one form have in common. */
export interface FormFacts {
  readonly api: Api;
  readonly purpose: string;
  readonly isUpdate: boolean;
  /** The faults that the server has found. */
  readonly details: readonly Detail[];
}

export interface FieldProps {
  readonly facts: FormFacts;
  readonly name: string;
  /** The place of the value in the body, as the server's details have it. */
  readonly pointer: string;
  readonly schema: Schema;
  readonly required: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

/** What an input has to know of its field. */
export interface InputProps {
  readonly facts: FormFacts;
  readonly id: string;
  readonly name: string;
  readonly described: Described;
  readonly required: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  /** For the input itself. */
  readonly aria: {
    readonly 'aria-describedby': string | undefined;
    readonly 'aria-invalid': 'true' | undefined;
    readonly 'aria-required': 'true' | undefined;
  };
}

/** Names a step below a place, as RFC 6901 has it. */
export function pointerTo(parent: string, step: string | number): string {
  return `${parent}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** One field of a form: its name, its input, what it is, and what the server says of it. */
export function Field(props: FieldProps): JSX.Element {
  const { facts, name, pointer, schema, required, value, onChange } = props;
  const described = describe(facts.api.document, schema, name);
  if (described.kind === 'object') return <ObjectField {...props} described={described} />;
  if (described.kind === 'list') return <ListField {...props} described={described} />;
  const id = `${facts.purpose}-${pointer.slice(1).replaceAll('/', '-')}`;
  const isWhole = described.kind === 'json' || described.kind === 'file';
  const faults = facts.details.filter(({ path }) => path === pointer || (isWhole && path.startsWith(`${pointer}/`)));
  const { description } = described.schema;
  const hints = [description === undefined ? [] : `${id}-hint`, faults.length === 0 ? [] : `${id}-faults`].flat();
  const input: InputProps = {
    facts,
    id,
    name,
    described,
    required,
    value,
    onChange,
    aria: {
      'aria-describedby': hints.length === 0 ? undefined : hints.join(' '),
      'aria-invalid': faults.length === 0 ? undefined : 'true',
      'aria-required': required ? 'true' : undefined,
    },
  };
  return (
    <div class={`field ${described.kind.replaceAll(' ', '-')}${faults.length > 0 ? ' wrong' : ''}`}>
      <FieldLabel id={id} name={name} required={required} />
      <div class="input">
        <Input {...input} />
        {description !== undefined && (
          <p class="hint" id={`${id}-hint`}>
            {description}
          </p>
        )}
        {faults.length > 0 && (
          <p class="fault" id={`${id}-faults`}>
            {faults.map(({ path, message }) => (path === pointer ? message : `${path} ${message}`)).join('; ')}
          </p>
        )}
      </div>
    </div>
  );
}

function FieldLabel({
  id,
  name,
  required,
}: {
  readonly id: string;
  readonly name: string;
  readonly required: boolean;
}) {
  return (
    <label for={id}>
      <bdi>{humanized(name)}</bdi>
      {required && <span class="required"> {texts.required}</span>}
    </label>
  );
}

function Input(props: InputProps): JSX.Element {
  switch (props.described.kind) {
    case 'boolean':
    case 'choice':
      return <ChoiceInput {...props} />;
    case 'integer':
    case 'number':
      return <NumberInput {...props} />;
    case 'date-time':
      return <DateTimeInput {...props} />;
    case 'reference':
      return <ReferenceInput {...props} />;
    case 'file':
      return <FileInput {...props} />;
    case 'text':
    case 'long text':
    case 'password':
    case 'date':
      return <TextInput {...props} />;
    case 'list':
    case 'object':
    case 'json':
      return <JsonInput {...props} />;
  }
}

type PartProps = FieldProps & { readonly described: Described };

/** The fields of an object within a body. */
function ObjectField({ facts, name, pointer, required, value, onChange, described }: PartProps): JSX.Element {
  const parts = propertiesOf(facts.api.document, described.schema);
  const needed = new Set(described.schema.required ?? []);
  const isThere = typeof value === 'object' && value !== null;
  const held = isThere ? (value as Readonly<Record<string, unknown>>) : {};
  return (
    <fieldset class="part">
      <legend>
        <bdi>{humanized(name)}</bdi>
        {required && <span class="required"> {texts.required}</span>}
      </legend>
      <PartFaults facts={facts} pointer={pointer} />
      {isThere || required ? (
        parts.map(([part, schema]) => (
          <Field
            key={part}
            facts={facts}
            name={part}
            pointer={pointerTo(pointer, part)}
            schema={schema}
            required={needed.has(part)}
            value={held[part]}
            onChange={(changed) => onChange({ ...held, [part]: changed })}
          />
        ))
      ) : (
        <button type="button" class="small" onClick={() => onChange({})}>
          {texts.add(humanized(name))}
        </button>
      )}
      {isThere && !required && (
        <button type="button" class="plain small" onClick={() => onChange(described.nullable ? null : undefined)}>
          {texts.remove(humanized(name))}
        </button>
      )}
    </fieldset>
  );
}

/** The items of a list within a body: values, references or objects. */
function ListField({ facts, name, pointer, required, value, onChange, described }: PartProps): JSX.Element {
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const item: Schema = described.schema.items ?? {};
  const word = humanized(name);
  const { maxItems = Infinity, description } = described.schema;
  const replace = (index: number, changed: unknown): void =>
    onChange(items.map((each, other) => (other === index ? changed : each)));
  return (
    <fieldset class="part list">
      <legend>
        <bdi>{word}</bdi>
        {required && <span class="required"> {texts.required}</span>}
      </legend>
      {description !== undefined && <p class="hint">{description}</p>}
      <PartFaults facts={facts} pointer={pointer} />
      {items.map((each, index) => (
        // The place is what an item is known by: the server's details speak of it.
        <div class="item" key={index}>
          <Field
            facts={facts}
            name={texts.itemOf(word, index)}
            pointer={pointerTo(pointer, index)}
            schema={item}
            required
            value={each}
            onChange={(changed) => replace(index, changed)}
          />
          <button
            type="button"
            class="plain small"
            aria-label={texts.remove(texts.itemOf(word, index))}
            onClick={() => onChange(items.filter((_item, other) => other !== index))}
          >
            ×
          </button>
        </div>
      ))}
      {items.length < maxItems && (
        <button
          type="button"
          class="small"
          onClick={() => onChange([...items, initialValue(facts.api.document, item) ?? null])}
        >
          {texts.add(word)}
        </button>
      )}
    </fieldset>
  );
}

function PartFaults({ facts, pointer }: { readonly facts: FormFacts; readonly pointer: string }): JSX.Element | null {
  const faults = facts.details.filter(({ path }) => path === pointer);
  if (faults.length === 0) return null;
  return (
    <p class="fault" tabIndex={-1}>
      {faults.map(({ message }) => message).join('; ')}
    </p>
  );
}
