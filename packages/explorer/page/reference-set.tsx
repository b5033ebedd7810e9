import type { JSX } from 'preact';
import type { Resource } from './api-model.ts';
import { ariaOf, type FieldProps, faultsAt, inputId, pointerTo } from './form-facts.ts';
import { ReferenceBox, referenceText } from './reference-input.tsx';
import { textOf } from './records.ts';
import { useLabel } from './related-records.ts';
import type { Described } from './schema.ts';
import { texts } from '../src/texts.ts';
import { useListFocus } from './use-list-focus.ts';
import { humanized, shortened } from './words.ts';

interface SetProps extends FieldProps {
  readonly described: Described;
  readonly items: readonly unknown[];
  readonly item: Described;
  readonly target: Resource;
}

/** A set of related records, each to be taken away, and a search for more of them. */
export function ReferenceSet({
  facts,
  name,
  pointer,
  described,
  items,
  item,
  target,
  onChange,
}: SetProps): JSX.Element {
  const list = useListFocus(items.length);
  const { field } = item.schema['x-reference']!;
  const faults = items.flatMap((value, index) =>
    faultsAt(facts, pointerTo(pointer, index)).map((words) => `${textOf(value)}: ${words}`),
  );
  const add = (value: unknown): void => {
    if (!items.some((each) => textOf(each) === textOf(value))) onChange([...items, value]);
  };
  const id = `${inputId(facts, pointer)}-more`;
  return (
    <div ref={list} class="set">
      {items.length > 0 && (
        <ul class="chips">
          {items.map((value, index) => (
            <Member
              key={textOf(value)}
              target={target}
              field={field}
              value={value}
              onRemove={() => onChange(items.filter((_item, other) => other !== index))}
            />
          ))}
        </ul>
      )}
      {items.length < (described.schema.maxItems ?? Infinity) && (
        <ReferenceBox
          facts={facts}
          id={id}
          name={name}
          described={item}
          required
          value={undefined}
          target={target}
          placeholder={texts.addMore}
          onChange={add}
          aria={{ ...ariaOf(id, faults), 'aria-label': texts.add(humanized(name)) }}
        />
      )}
      {faults.length > 0 && (
        <p class="fault" id={`${id}-faults`}>
          {faults.join('; ')}
        </p>
      )}
    </div>
  );
}

function Member({
  target,
  field,
  value,
  onRemove,
}: {
  readonly target: Resource;
  readonly field: string;
  readonly value: unknown;
  readonly onRemove: () => void;
}): JSX.Element {
  const [label] = useLabel(target, field, value);
  const text = shortened(referenceText(value, label), 60);
  return (
    <li>
      <button type="button" class="chip" aria-label={texts.remove(text)} onClick={onRemove}>
        <bdi>{text}</bdi>
        <span aria-hidden="true"> ×</span>
      </button>
    </li>
  );
}
