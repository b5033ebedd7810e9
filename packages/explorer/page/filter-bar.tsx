import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Api, Operation, Resource } from './api-model.ts';
import { conditionText } from './condition-builder.tsx';
import type { Detail } from './exchanges.ts';
import { FilterField } from './filter-field.tsx';
import { changed, filtersOf, hasParameter, isJson, schemaOf } from './list-query.ts';
import { here } from './location.ts';
import type { Parameter } from './openapi.ts';
import { useReferenceTarget } from './reference-input.tsx';
import { useLabel } from './related-records.ts';
import { type Described, describe } from './schema.ts';
import { texts } from '../src/texts.ts';
import { Value } from './value.tsx';
import { humanized, shortened } from './words.ts';

/** The time between the last letter of a search and its request, in milliseconds. */
const PAUSE_MS = 250;

/** The search, the filters, and what of them is on. */
export function FilterBar({
  api,
  resource,
  list,
  query,
  details,
  onChange,
  children,
}: {
  readonly api: Api;
  readonly resource: Resource;
  readonly list: Operation;
  readonly query: URLSearchParams;
  readonly details: readonly Detail[];
  readonly onChange: (query: URLSearchParams, replace?: boolean) => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const filters = filtersOf(list);
  const active = filters.filter(({ name }) => query.has(name));
  const [isOpen, setOpen] = useState(false);
  const isShown = isOpen || details.some(({ path }) => filters.some(({ name }) => path === `/${name}`));
  return (
    <div class="filters">
      <div class="filter-line">
        {hasParameter(list, 'search') && (
          <SearchBox resource={resource} list={list} query={query} onChange={onChange} />
        )}
        {filters.length > 0 && (
          <button type="button" aria-expanded={isShown} aria-controls="filter-panel" onClick={() => setOpen(!isShown)}>
            {texts.filtersOn(active.length)}
          </button>
        )}
        {children}
      </div>
      {active.length > 0 && <Chips api={api} list={list} parameters={active} query={query} onChange={onChange} />}
      <FilterPanel isShown={isShown} onClose={() => setOpen(false)}>
        {filters.map((parameter) => (
          <FilterField
            key={parameter.name}
            api={api}
            parameter={parameter}
            values={query.getAll(parameter.name)}
            details={details.filter(({ path }) => path === `/${parameter.name}`)}
            onChange={(values) => onChange(changed(list, query, { [parameter.name]: values }))}
          />
        ))}
      </FilterPanel>
    </div>
  );
}

/** The controls of the filters: a sheet over a narrow screen, a panel of a wide one. */
function FilterPanel({
  isShown,
  onClose,
  children,
}: {
  readonly isShown: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const sheet = useRef<HTMLDialogElement>(null);
  const isNarrow = matchMedia('(max-width: 720px)').matches;
  useLayoutEffect(() => {
    if (isShown) sheet.current?.showModal();
    else sheet.current?.close();
  }, [isShown]);
  if (!isNarrow) {
    return (
      <div id="filter-panel" class="filter-panel" hidden={!isShown}>
        {isShown && children}
      </div>
    );
  }
  return (
    <dialog ref={sheet} id="filter-panel" class="filter-panel sheet" aria-label={texts.filters} onClose={onClose}>
      {isShown && children}
      <button type="button" class="primary" onClick={() => sheet.current?.close()}>
        {texts.showList}
      </button>
    </dialog>
  );
}

/** The filters that are on, each value to be taken away. */
function Chips({
  api,
  list,
  parameters,
  query,
  onChange,
}: {
  readonly api: Api;
  readonly list: Operation;
  readonly parameters: readonly Parameter[];
  readonly query: URLSearchParams;
  readonly onChange: (query: URLSearchParams) => void;
}): JSX.Element {
  return (
    <ul class="chips">
      {parameters.flatMap((parameter) => {
        const { name } = parameter;
        const values = query.getAll(name);
        return values.map((value) => (
          <li key={name + value}>
            <button
              type="button"
              class="chip"
              onClick={() => onChange(changed(list, query, { [name]: values.filter((each) => each !== value) }))}
            >
              <span class="unseen">{texts.removeFilter}</span> {!isJson(parameter) && `${humanized(name)} `}
              <bdi>
                <ChipValue api={api} parameter={parameter} value={value} />
              </bdi>
              <span aria-hidden="true"> ×</span>
            </button>
          </li>
        ));
      })}
      <li>
        <button
          type="button"
          class="plain small"
          onClick={() => onChange(changed(list, query, Object.fromEntries(parameters.map(({ name }) => [name, '']))))}
        >
          {texts.clearFilters}
        </button>
      </li>
    </ul>
  );
}

interface ChipValueProps {
  readonly api: Api;
  readonly parameter: Parameter;
  readonly value: string;
}

/** A value of a filter as people know it. */
function ChipValue({ api, parameter, value }: ChipValueProps): JSX.Element {
  const described = describe(api.document, schemaOf(parameter), parameter.name);
  const target = useReferenceTarget(api, described);
  if (target !== undefined) return <RecordName target={target} described={described} value={value} />;
  if (isJson(parameter)) return <>{shortened(conditionText(api, parameter, value), 80)}</>;
  if (described.kind === 'boolean') return <>{value === 'true' ? texts.yes : texts.no}</>;
  if (described.kind === 'date' || described.kind === 'date-time') return <Value value={value} described={described} />;
  return <>{shortened(value, 40)}</>;
}

function RecordName({ target, described, value }: { target: Resource; described: Described; value: string }) {
  const [label = value] = useLabel(target, described.schema['x-reference']!.field, value);
  return <>{shortened(label, 40)}</>;
}

function SearchBox({
  resource,
  list,
  query,
  onChange,
}: {
  readonly resource: Resource;
  readonly list: Operation;
  readonly query: URLSearchParams;
  readonly onChange: (query: URLSearchParams, replace?: boolean) => void;
}): JSX.Element {
  const current = query.get('search') ?? '';
  const [text, setText] = useState(current);
  const sent = useRef(current);
  // The URL may change by other ways: back, a link.
  if (sent.current !== current) {
    sent.current = current;
    if (text.trim() !== current) setText(current);
  }
  useEffect(() => {
    if (text.trim() === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text.trim();
      // Something else may have changed since the last letter.
      onChange(changed(list, here.get().query, { search: text.trim() }), true);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      class="search"
      aria-label={texts.search(resource.name)}
      placeholder={texts.search(resource.name)}
      value={text}
      onInput={({ currentTarget }) => setText(currentTarget.value)}
    />
  );
}
