import type { JSX } from 'preact';
import { ariaOf, type FieldProps, faultsAt, inputId, pointerTo } from './form-facts.ts';
import { Input } from './input.tsx';
import type { ApiDocument } from './openapi.ts';
import { type Described, describe, fieldsOf } from './schema.ts';
import { texts } from '../src/texts.ts';
import { useListFocus } from './use-list-focus.ts';
import { humanized } from './words.ts';

/** The most columns of inputs that a row has room for. */
const MAX_COLUMNS = 5;

/** Tells if objects can be edited as the rows of a table: they have a few fields, each with one input. */
export function fitsTable(document: ApiDocument, item: Described): boolean {
  const kinds = fieldsOf(document, item).map(([name, schema]) => describe(document, schema, name).kind);
  const isNarrow = kinds.length > 0 && kinds.length <= MAX_COLUMNS;
  return item.kind === 'object' && isNarrow && !kinds.some((kind) => ['object', 'list', 'json', 'file'].includes(kind));
}

interface ChildrenProps extends FieldProps {
  readonly described: Described;
  readonly items: readonly unknown[];
  readonly item: Described;
}

type Child = Readonly<Record<string, unknown>>;

/** The children of a record, a row for each. */
export function ChildrenTable(props: ChildrenProps): JSX.Element {
  const { facts, name, onChange, items, item, described } = props;
  const { document } = facts.api;
  const list = useListFocus(items.length);
  const fields = fieldsOf(document, item);
  const children = items as readonly Child[];
  return (
    <div ref={list} class="children">
      {items.length > 0 && (
        <table>
          <thead>
            <tr>
              {fields.map(([field, schema]) => (
                <th scope="col" key={field} class={describe(document, schema, field).kind}>
                  <bdi>{humanized(field)}</bdi>
                </th>
              ))}
              <td />
            </tr>
          </thead>
          <tbody>
            {children.map((child, index) => (
              // The place is what a child is known by: the server's details speak of it.
              <ChildRow
                key={index}
                {...props}
                child={child}
                index={index}
                onChild={(changed) => onChange(children.map((each, other) => (other === index ? changed : each)))}
                onRemove={() => onChange(children.filter((_child, other) => other !== index))}
              />
            ))}
          </tbody>
        </table>
      )}
      {items.length < (described.schema.maxItems ?? Infinity) && (
        <button type="button" class="small" onClick={() => onChange([...children, emptyChild(document, item)])}>
          {texts.add(humanized(name))}
        </button>
      )}
    </div>
  );
}

function ChildRow({
  facts,
  name,
  pointer,
  item,
  child,
  index,
  onChild,
  onRemove,
}: ChildrenProps & {
  readonly child: Child;
  readonly index: number;
  readonly onChild: (child: Child) => void;
  readonly onRemove: () => void;
}): JSX.Element {
  const { document } = facts.api;
  const place = pointerTo(pointer, index);
  const word = texts.itemOf(humanized(name), index);
  const needed = new Set(item.schema.required ?? []);
  const others = faultsAt(facts, place);
  return (
    <tr class="item">
      {fieldsOf(document, item).map(([field, schema], column) => {
        const at = pointerTo(place, field);
        const id = inputId(facts, at);
        const faults = [...faultsAt(facts, at), ...(column === 0 ? others : [])];
        const described = describe(document, schema, field);
        return (
          <td key={field} class={described.kind}>
            <Input
              facts={facts}
              id={id}
              name={field}
              described={described}
              required={needed.has(field)}
              value={child[field]}
              onChange={(value) => onChild({ ...child, [field]: value })}
              aria={{
                ...ariaOf(id, faults, { required: needed.has(field) }),
                'aria-label': texts.partOf(word, humanized(field)),
              }}
            />
            {faults.length > 0 && (
              <p class="fault" id={`${id}-faults`}>
                {faults.join('; ')}
              </p>
            )}
          </td>
        );
      })}
      <td class="remove">
        <button type="button" class="plain small" aria-label={texts.remove(word)} onClick={onRemove}>
          ×
        </button>
      </td>
    </tr>
  );
}

/** A new child: its boxes are there, and not ticked. */
function emptyChild(document: ApiDocument, item: Described): Child {
  const entries = fieldsOf(document, item).map(([name, schema]) => {
    const { kind, nullable, schema: inner } = describe(document, schema, name);
    return [name, inner.default ?? (kind === 'boolean' && !nullable ? false : undefined)] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
