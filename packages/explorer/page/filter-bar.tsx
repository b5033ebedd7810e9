import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Api, Operation, Resource } from './api-model.ts';
import type { Detail } from './exchanges.ts';
import { FilterField } from './filter-field.tsx';
import { changed, filtersOf, hasParameter } from './list-query.ts';
import { here } from './location.ts';
import { texts } from '../src/texts.ts';
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
        {hasParameter(list, 'search') && <SearchBox resource={resource} query={query} onChange={onChange} />}
        {filters.length > 0 && (
          <button type="button" aria-expanded={isShown} aria-controls="filter-panel" onClick={() => setOpen(!isShown)}>
            {texts.filtersOn(active.length)}
          </button>
        )}
        {children}
      </div>
      {active.length > 0 && <Chips names={active.map(({ name }) => name)} query={query} onChange={onChange} />}
      <div id="filter-panel" class="filter-panel" hidden={!isShown}>
        {isShown &&
          filters.map((parameter) => (
            <FilterField
              key={parameter.name}
              api={api}
              parameter={parameter}
              text={query.get(parameter.name) ?? ''}
              details={details.filter(({ path }) => path === `/${parameter.name}`)}
              onChange={(text) => onChange(changed(query, { [parameter.name]: text }))}
            />
          ))}
      </div>
    </div>
  );
}

/** The filters that are on, each to be taken away. */
function Chips({
  names,
  query,
  onChange,
}: {
  readonly names: readonly string[];
  readonly query: URLSearchParams;
  readonly onChange: (query: URLSearchParams) => void;
}): JSX.Element {
  return (
    <ul class="chips">
      {names.map((name) => (
        <li key={name}>
          <button type="button" class="chip" onClick={() => onChange(changed(query, { [name]: '' }))}>
            <span class="unseen">{texts.removeFilter}</span> {humanized(name)}{' '}
            <bdi>{shortened(query.getAll(name).join(', '), 40)}</bdi>
            <span aria-hidden="true"> ×</span>
          </button>
        </li>
      ))}
      <li>
        <button
          type="button"
          class="plain small"
          onClick={() => onChange(changed(query, Object.fromEntries(names.map((name) => [name, '']))))}
        >
          {texts.clearFilters}
        </button>
      </li>
    </ul>
  );
}

function SearchBox({
  resource,
  query,
  onChange,
}: {
  readonly resource: Resource;
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
      onChange(changed(here.get().query, { search: text.trim() }), true);
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
