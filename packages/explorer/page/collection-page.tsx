import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ActionButtons, ActionPanel } from './action-panel.tsx';
import { type Api, type Operation, recordPathOf, type Resource } from './api-model.ts';
import { ColumnMenu, columnsOf } from './columns.tsx';
import { DataTable } from './data-table.tsx';
import { send } from './exchanges.ts';
import { FilterBar } from './filter-bar.tsx';
import { filtersOf, hasParameter, pageFacts } from './list-query.ts';
import { here, hrefOf, navigate } from './location.ts';
import { notice } from './notice.tsx';
import { Pager } from './pager.tsx';
import { isOffered } from './permissions.ts';
import { type Row, rowsOf, textOf } from './records.ts';
import { bodyOf } from './request-body.ts';
import { SchemaForm } from './schema-form.tsx';
import { SelectionBar } from './selection-bar.tsx';
import { session } from './session.ts';
import { Problem, Waiting } from './states.tsx';
import { useStore } from './store.ts';
import { texts } from './texts.ts';
import { useAnswer } from './use-answer.ts';

interface CollectionProps {
  readonly api: Api;
  readonly resource: Resource;
  readonly path: string;
}

/** A collection: a table of its records, or, as the fragment of the URL says, a new record or an action. */
export function CollectionPage({ api, resource, path }: CollectionProps): JSX.Element {
  const { fragment, query } = useStore(here);
  const person = useStore(session);
  const actions = resource.collectionActions.filter((action) => isOffered(action, person));
  const action = actions.find(({ id }) => id === fragment.get('action'));
  const isNew = fragment.has('new') && isOffered(resource.create, person);
  const start = hrefOf(path, query, new URLSearchParams());
  return (
    <>
      <div class="heading">
        <h1>{isNew ? texts.create(resource.singular) : action === undefined ? resource.name : action.summary}</h1>
        <div class="buttons">
          {isNew || action !== undefined ? (
            <a class="button" href={start}>
              {texts.back}
            </a>
          ) : (
            <>
              <ActionButtons actions={actions} path={path} />
              {isOffered(resource.create, person) && (
                <a class="button primary" href={hrefOf(path, query, new URLSearchParams({ new: '' }))}>
                  {texts.create(resource.singular)}
                </a>
              )}
            </>
          )}
        </div>
      </div>
      {isNew && <CreateForm api={api} resource={resource} path={path} create={resource.create} />}
      {action !== undefined && <ActionPanel key={action.id} api={api} action={action} path={path} />}
      {!isNew && action === undefined && <RecordTable api={api} resource={resource} path={path} />}
    </>
  );
}

function RecordTable({ api, resource, path }: CollectionProps): JSX.Element {
  const { query, fragment } = useStore(here);
  const list = resource.list!;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const awaited = useAnswer(list, hrefOf(path, query, new URLSearchParams()));
  const { answer, refusal, reload } = awaited;
  const rows = rowsOf(answer?.body);
  const columns = columnsOf(api.document, resource.row, rows, fragment.get('columns'));
  const facts = pageFacts(list, query, answer?.body, rows.length);
  const clear = (): void => setSelected(new Set());
  const go = (next: URLSearchParams, replace = false): void => {
    clear();
    navigate(hrefOf(path, next, fragment), { replace });
  };
  return (
    <>
      {resource.description !== undefined && <p class="lead">{resource.description}</p>}
      {(refusal === undefined || refusal.status === 400) && (
        <FilterBar
          api={api}
          resource={resource}
          list={list}
          query={query}
          details={refusal?.details ?? []}
          onChange={go}
        >
          <ColumnMenu columns={columns} path={path} />
        </FilterBar>
      )}
      <Waiting awaited={awaited} />
      {refusal !== undefined && <Problem refusal={refusal} onRetry={reload} />}
      {answer !== undefined && rows.length === 0 && <Empty resource={resource} query={query} />}
      {rows.length > 0 && (
        <DataTable
          resource={resource}
          columns={columns.filter(({ isShown }) => isShown)}
          rows={rows}
          query={query}
          hasSort={hasParameter(list, 'sort')}
          isStale={awaited.isWaiting}
          hrefOfRow={(row) => hrefOfRow(resource, path, row)}
          selected={selected}
          onSelect={setSelected}
          onQuery={go}
        />
      )}
      {selected.size > 0 && (
        <SelectionBar
          resource={resource}
          path={path}
          rows={rows.filter((row) => selected.has(textOf(row[resource.key])))}
          onClear={clear}
          onChanged={reload}
        />
      )}
      {answer !== undefined && <Pager list={list} facts={facts} query={query} onQuery={go} />}
    </>
  );
}

function Empty({ resource, query }: { readonly resource: Resource; readonly query: URLSearchParams }): JSX.Element {
  return <p class="empty">{isNarrowed(resource.list!, query) ? texts.noMatches : texts.noRecords(resource.name)}</p>;
}

/** Tells if a list has not all of its records, because a search or a filter is on. */
function isNarrowed(list: Operation, query: URLSearchParams): boolean {
  const filters = new Set(filtersOf(list).map(({ name }) => name));
  return [...query.keys()].some((name) => name === 'search' || filters.has(name));
}

/** The address of a record's own page; undefined if it has none. */
function hrefOfRow(resource: Resource, path: string, row: Row): string | undefined {
  const key = row[resource.key];
  if (resource.retrieve === undefined || (typeof key !== 'string' && typeof key !== 'number')) return undefined;
  return recordPathOf(resource, path, key);
}

function CreateForm({ api, resource, path, create }: CollectionProps & { readonly create: Operation }): JSX.Element {
  return (
    <SchemaForm
      api={api}
      schema={create.body?.schema ?? {}}
      purpose="new"
      submitLabel={texts.create(resource.singular)}
      onSubmit={async (values) => {
        const { headers } = await send({ operation: create, url: path, body: bodyOf(create, values) });
        notice.set(texts.created(resource.singular));
        const place = headers.get('location');
        navigate(place !== null && resource.retrieve !== undefined ? new URL(place, location.href).pathname : path);
      }}
    />
  );
}
