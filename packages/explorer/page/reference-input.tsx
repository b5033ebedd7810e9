import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Api, Resource } from './api-model.ts';
import type { InputProps } from './form-facts.ts';
import { emptied, NumberInput, TextInput } from './inputs.tsx';
import { isOffered } from './permissions.ts';
import { sentenceOf } from './exchanges.ts';
import { type Row, textOf, titleOf } from './records.ts';
import { type Proposals, useLabel, useProposals } from './related-records.ts';
import type { Described } from './schema.ts';
import { session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { humanized } from './words.ts';

/** A record of another collection, found by searching there; its key as it is, if that collection cannot be searched. */
export function ReferenceInput(props: InputProps & { readonly placeholder?: string }): JSX.Element {
  const target = useReferenceTarget(props.facts.api, props.described);
  if (target !== undefined) return <ReferenceBox {...props} target={target} />;
  const isNumber = [props.described.schema.type].flat().some((type) => type === 'integer' || type === 'number');
  return isNumber ? <NumberInput {...props} /> : <TextInput {...props} />;
}

/**
 * Finds the collection that a value refers to; undefined if it refers to none that can be searched. It stays the same when a login
 * has ended: no control becomes another one while somebody is at it.
 */
export function useReferenceTarget({ resources }: Api, { schema }: Described): Resource | undefined {
  const person = useStore(session);
  const entity = schema['x-reference']?.entity;
  return useMemo(
    () =>
      resources.find(
        (resource) => resource.entity === entity && !resource.path.includes('{') && isOffered(resource.list, person),
      ),
    [resources, entity, person.turn],
  );
}

type BoxProps = InputProps & { readonly target: Resource; readonly placeholder?: string };

/** A combobox, as the ARIA Authoring Practices have it. */
export function ReferenceBox(props: BoxProps): JSX.Element {
  const { id, name, described, required, value, onChange, aria, target } = props;
  const { field } = described.schema['x-reference']!;
  /** Undefined while the list is closed. */
  const [text, setText] = useState<string>();
  const [active, setActive] = useState(0);
  const found = useProposals(target, text);
  const [label, rememberLabel] = useLabel(target, field, value);
  const isOpen = text !== undefined;
  const choose = (row: Row | undefined): void => {
    if (row === undefined) return;
    onChange(row[field]);
    rememberLabel(row);
    setText(undefined);
  };
  const shown = textOf(value) === '' ? '' : referenceText(value, label);
  const input = useRef<HTMLInputElement>(null);
  // Whoever is in the field types over what stands there. The browser selects nothing any more once the text is another.
  useLayoutEffect(() => {
    if (!isOpen && document.activeElement === input.current) input.current?.select();
  }, [isOpen, shown]);
  return (
    <div class="reference-box">
      <input
        ref={input}
        id={id}
        role="combobox"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && found !== undefined && found.rows.length > 0 ? `${id}-${active}` : undefined}
        autocomplete="off"
        dir="auto"
        placeholder={props.placeholder ?? (value === null ? texts.noValue : texts.choose)}
        value={text ?? shown}
        onFocus={({ currentTarget }) => currentTarget.select()}
        onClick={() => setText(text ?? '')}
        onInput={({ currentTarget }) => {
          setActive(0);
          setText(currentTarget.value);
        }}
        onKeyDown={(event) => followKey(event, { isOpen, active, found, setText, setActive, choose })}
        onBlur={() => setText(undefined)}
        {...aria}
      />
      {(described.nullable || !required) && shown !== '' && !isOpen && (
        <button
          type="button"
          class="plain clear"
          aria-label={texts.clearValue(humanized(name))}
          onClick={() => onChange(emptied(props))}
        >
          ×
        </button>
      )}
      <ProposalList {...props} isOpen={isOpen} active={active} found={found} onChoose={choose} />
    </div>
  );
}

interface Keys {
  readonly isOpen: boolean;
  readonly active: number;
  readonly found: Proposals | undefined;
  readonly setText: (text: string | undefined) => void;
  readonly setActive: (active: number) => void;
  readonly choose: (row: Row | undefined) => void;
}

function followKey(event: KeyboardEvent, { isOpen, active, found, setText, setActive, choose }: Keys): void {
  const count = Math.max(found?.rows.length ?? 0, 1);
  const isArrow = event.key === 'ArrowDown' || event.key === 'ArrowUp';
  if (!isArrow && !(isOpen && (event.key === 'Escape' || event.key === 'Enter'))) return;
  // Neither is the form sent, nor the dialog closed.
  event.preventDefault();
  event.stopPropagation();
  if (event.key === 'Escape') setText(undefined);
  else if (event.key === 'Enter') choose(found?.rows[active]);
  else if (isOpen) setActive((active + (event.key === 'ArrowDown' ? 1 : count - 1)) % count);
  else setText('');
}

function ProposalList({
  id,
  name,
  described,
  target,
  isOpen,
  active,
  found,
  onChoose,
}: BoxProps & {
  readonly isOpen: boolean;
  readonly active: number;
  readonly found: Proposals | undefined;
  readonly onChoose: (row: Row) => void;
}): JSX.Element {
  const { field } = described.schema['x-reference']!;
  return (
    <div class="proposals" hidden={!isOpen}>
      <ul id={`${id}-list`} role="listbox" aria-label={humanized(name)}>
        {found?.rows.map((row, index) => (
          <li
            key={textOf(row[field])}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            onMouseDown={(event) => {
              event.preventDefault();
              onChoose(row);
            }}
          >
            <bdi>{referenceText(row[field], titleOf(target, row))}</bdi>
          </li>
        ))}
      </ul>
      <p role="status">{isOpen ? noteOf(found) : ''}</p>
    </div>
  );
}

function noteOf(found: Proposals | undefined): string {
  if (found === undefined) return texts.searching;
  if (found.refusal !== undefined) return sentenceOf(found.refusal);
  if (found.rows.length === 0) return texts.nothingFound;
  return found.hasMore ? texts.moreFound : texts.countOf(found.rows.length);
}

/** The title of a record beside its key, unless the key says it all. */
export function referenceText(value: unknown, label: string | undefined): string {
  const key = textOf(value);
  return label === undefined || label === key ? key : `${label} · ${key}`;
}
