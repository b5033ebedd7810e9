import type { ComponentChildren, JSX } from 'preact';
import { ChildrenTable, fitsTable } from './children-table.tsx';
import {
  ACCOUNT_PURPOSES,
  ariaOf,
  type FieldProps,
  type FormFacts,
  faultsAt,
  inputId,
  pointerTo,
} from './form-facts.ts';
import { Input } from './input.tsx';
import type { Schema } from './openapi.ts';
import { useReferenceTarget } from './reference-input.tsx';
import { ReferenceSet } from './reference-set.tsx';
import { type Described, describe, fieldsOf, initialValue } from './schema.ts';
import { texts } from '../src/texts.ts';
import { useListFocus } from './use-list-focus.ts';
import { humanized, plainWords } from './words.ts';

/** One field of a form: its name, its input, what it is, and what the server says of it. */
export function Field(props: FieldProps): JSX.Element {
  const described = describe(props.facts.api.document, props.schema, props.name);
  if (described.kind === 'object') return <ObjectField {...props} described={described} />;
  if (described.kind === 'list') return <ListField {...props} described={described} />;
  return (
    <div class={`field ${described.kind.replaceAll(' ', '-')}`}>
      <label for={inputId(props.facts, props.pointer)}>
        <Name {...props} />
      </label>
      <FieldInput {...props} described={described} />
    </div>
  );
}

type PartProps = FieldProps & { readonly described: Described };

/** The input of a value, and below it what it is, and what the server says of it. */
function FieldInput({ label, ...props }: PartProps & { readonly label?: string }): JSX.Element {
  const { facts, pointer, described, required } = props;
  const id = inputId(facts, pointer);
  const faults = faultsAt(facts, pointer, described.kind === 'json' || described.kind === 'file');
  const description = hintOf(props);
  return (
    <div class="input">
      <Input
        {...props}
        id={id}
        aria={{
          ...ariaOf(id, faults, { required, hint: description !== undefined }),
          ...(label === undefined ? {} : { 'aria-label': label }),
        }}
      />
      {description !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {description}
        </p>
      )}
      {faults.length > 0 && (
        <p class="fault" id={`${id}-faults`}>
          {faults.join('; ')}
        </p>
      )}
    </div>
  );
}

/** The words below a field. Of a new password people need to know how long it is to be, of a number its bounds. */
function hintOf({ facts, described }: PartProps): string | undefined {
  const { kind, schema } = described;
  const { description, minLength, maxLength } = schema;
  const isNewPassword = kind === 'password' && ACCOUNT_PURPOSES.has(facts.purpose) && minLength !== undefined;
  if (isNewPassword) return texts.passwordLength(minLength, maxLength);
  const words = description === undefined ? undefined : plainWords(description);
  return [words, boundsOf(described)].filter((each) => each !== undefined).join('. ') || undefined;
}

/** The bounds of a number; those of what a column can hold are nobody's concern. */
function boundsOf({ kind, schema }: Described): string | undefined {
  const [least, most] = [schema.minimum, schema.maximum].map((bound) =>
    bound === undefined || Math.abs(bound) >= 2 ** 31 - 1 ? undefined : bound,
  );
  const isNumber = kind === 'integer' || kind === 'number';
  return isNumber && most !== undefined ? texts.bounds(least, most) : undefined;
}

function Name({ facts, name, required }: Pick<FieldProps, 'facts' | 'name' | 'required'>): JSX.Element {
  return (
    <>
      <bdi>{humanized(name)}</bdi>
      {required && facts.isAllRequired !== true && <span class="required"> {texts.required}</span>}
    </>
  );
}

/** A field of several inputs: its name stands where those of the others do. */
function Part({ children, ...props }: PartProps & { readonly children: ComponentChildren }): JSX.Element {
  const { description } = props.described.schema;
  return (
    <fieldset class="part">
      <legend>
        <Name {...props} />
      </legend>
      <div class="input">
        {description !== undefined && <p class="hint">{description}</p>}
        {children}
        <PartFaults facts={props.facts} pointer={props.pointer} />
      </div>
    </fieldset>
  );
}

/** The fields of an object within a body. */
function ObjectField(props: PartProps): JSX.Element {
  const { name, required, value, onChange, described } = props;
  const isThere = typeof value === 'object' && value !== null;
  return (
    <Part {...props}>
      {isThere || required ? (
        <ObjectFields {...props} />
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
    </Part>
  );
}

function ObjectFields({ facts, pointer, value, onChange, described }: PartProps): JSX.Element {
  const needed = new Set(described.schema.required ?? []);
  const held = (value ?? {}) as Readonly<Record<string, unknown>>;
  return (
    <>
      {fieldsOf(facts.api.document, described).map(([part, schema]) => (
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
      ))}
    </>
  );
}

/** The items of a list within a body: related records, values or objects. */
function ListField(props: PartProps): JSX.Element {
  const { facts, value, described } = props;
  const schema: Schema = described.schema.items ?? {};
  const item = describe(facts.api.document, schema);
  const target = useReferenceTarget(facts.api, item);
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const parts = { ...props, items, schema, item };
  return (
    <Part {...props}>
      {target !== undefined ? (
        <ReferenceSet {...parts} target={target} />
      ) : fitsTable(facts.api.document, item) ? (
        <ChildrenTable {...parts} />
      ) : (
        <Items {...parts} />
      )}
    </Part>
  );
}

/** The items one below the other. */
function Items({
  facts,
  name,
  pointer,
  onChange,
  described,
  items,
  schema,
  item,
}: FieldProps & { readonly described: Described; readonly items: readonly unknown[]; readonly item: Described }) {
  const list = useListFocus(items.length);
  const word = humanized(name);
  return (
    <div class="items" ref={list}>
      {items.map((each, index) => {
        const label = texts.itemOf(word, index);
        const props = {
          facts,
          name: label,
          pointer: pointerTo(pointer, index),
          schema,
          required: true,
          value: each,
          onChange: (changed: unknown) => onChange(items.map((old, other) => (other === index ? changed : old))),
        };
        return (
          // The place is what an item is known by: the server's details speak of it.
          <div class="item" key={index}>
            {item.kind === 'object' || item.kind === 'list' ? (
              <Field {...props} />
            ) : (
              <FieldInput {...props} described={item} label={label} />
            )}
            <button
              type="button"
              class="plain small"
              aria-label={texts.remove(label)}
              onClick={() => onChange(items.filter((_item, other) => other !== index))}
            >
              ×
            </button>
          </div>
        );
      })}
      {items.length < (described.schema.maxItems ?? Infinity) && (
        <button
          type="button"
          class="small"
          onClick={() => onChange([...items, initialValue(facts.api.document, schema) ?? null])}
        >
          {texts.add(word)}
        </button>
      )}
    </div>
  );
}

function PartFaults({ facts, pointer }: { readonly facts: FormFacts; readonly pointer: string }): JSX.Element | null {
  const faults = faultsAt(facts, pointer);
  if (faults.length === 0) return null;
  return (
    <p class="fault" tabIndex={-1}>
      {faults.join('; ')}
    </p>
  );
}
