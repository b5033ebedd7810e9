import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Api, type Operation, recordPathOf, type Resource } from './api-model.ts';
import { ColumnMenu, columnsOf } from './columns.tsx';
import { DataTable } from './data-table.tsx';
import { ExportMenu } from './export-menu.tsx';
import { FilterBar } from './filter-bar.tsx';
import { expandable, filtersOf, hasParameter, type PageFacts, pageFacts, withFields } from './list-query.ts';
import { here, hrefOf, navigate } from './location.ts';
import { Pager } from './pager.tsx';
import { isOffered } from './permissions.ts';
import { isList, type Row, rowsOf, textOf } from './records.ts';
import { SelectionBar } from './selection-bar.tsx';
import { session } from './session.ts';
import { Problem, Waiting } from './states.tsx';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { useAnswer } from './use-answer.ts';
import { useLive } from './use-live.ts';
import { useSelection } from './use-selection.ts';
import { ViewMenu } from './view-menu.tsx';

export interface CollectionProps {
  readonly api: Api;
  readonly resource: Resource;
  readonly path: string;
}

interface TableProps extends CollectionProps {
  /** Is told if there is such a collection, as far as the API says. */
  readonly onFound: (isFound: boolean) => void;
}

/** Refusals after which there is nothing to search and filter in. */
const IS_CLOSED: ReadonlySet<number> = new Set([401, 403, 404]);

/** The records of a collection, to be searched, filtered, ordered, paged and selected. */
export function RecordTable({ api, resource, path, onFound }: TableProps): JSX.Element {
  const { query, fragment } = useStore(here);
  const list = resource.list!;
  const chosen = fragment.get('columns');
  const sentQuery = withFields(list, query, chosen, resource.key);
  const url = hrefOf(path, sentQuery, new URLSearchParams());
  const { rows, news, isLive, answer, refusal, isWaiting, reload } = useRows(resource, list, url);
  useEffect(() => onFound(refusal?.status !== 404), [refusal]);
  const facts = pageFacts(list, query, answer?.body, rows.length);
  const columns = columnsOf(api.document, resource.row, rows, chosen, expandable(list, query));
  const selection = useSelection(resource, rows);
  const go = (next: URLSearchParams, replace = false): void => {
    selection.select(new Set());
    navigate(hrefOf(path, next, fragment), { replace });
  };
  return (
    <>
      {!IS_CLOSED.has(refusal?.status ?? 0) && (
        <FilterBar
          api={api}
          resource={resource}
          list={list}
          query={query}
          details={refusal?.details ?? []}
          onChange={go}
        >
          <ColumnMenu columns={columns} list={list} path={path} />
          <ViewMenu />
          <ExportMenu list={list} endings={resource.exports} path={path} query={sentQuery} />
        </FilterBar>
      )}
      <Waiting isWaiting={isWaiting} />
      {refusal !== undefined && <Problem refusal={refusal} onRetry={reload} />}
      {answer !== undefined && rows.length === 0 && (
        <Empty resource={resource} path={path} query={query} facts={facts} />
      )}
      {rows.length > 0 && (
        <DataTable
          api={api}
          resource={resource}
          columns={columns.filter(({ isShown }) => isShown)}
          rows={rows}
          query={query}
          hasSort={hasParameter(list, 'sort')}
          isStale={isWaiting}
          hrefOfRow={(row) => hrefOfRow(resource, path, row)}
          news={news}
          selection={selection}
          path={path}
          onWritten={reload}
          onQuery={go}
        />
      )}
      {selection.rows.length > 0 && (
        <SelectionBar api={api} resource={resource} path={path} selection={selection} onWritten={reload} />
      )}
      {answer !== undefined && <Pager list={list} facts={facts} query={query} isLive={isLive} onQuery={go} />}
    </>
  );
}

/** Reads the rows of a list, and follows it if it is live. */
function useRows({ key }: Resource, list: Operation, url: string) {
  const awaited = useAnswer(list, url, isList);
  const { answer, show } = awaited;
  const rows = rowsOf(answer?.body);
  const [news, setNews] = useState<ReadonlySet<string>>(NONE);
  const isLive = useLive(list, answer === undefined ? undefined : url, (body) => {
    setNews(keysOfNews(key, rows, rowsOf(body)));
    show(body);
  });
  return { ...awaited, rows, news, isLive };
}

const NONE: ReadonlySet<string> = new Set();

/** Lists the keys of the rows that are new, or other than before. */
function keysOfNews(key: string, before: readonly Row[], now: readonly Row[]): ReadonlySet<string> {
  const known = new Set(before.map((row) => JSON.stringify(row)));
  return new Set(now.filter((row) => !known.has(JSON.stringify(row))).map((row) => textOf(row[key])));
}

function Empty({
  resource,
  path,
  query,
  facts,
}: {
  readonly resource: Resource;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly facts: PageFacts;
}): JSX.Element {
  const isPastEnd = facts.previous !== undefined;
  const isFiltered = isNarrowed(resource.list!, query);
  const mayCreate = isOffered(resource.create, useStore(session), path);
  const hint = isFiltered ? texts.noMatchesHint : mayCreate ? texts.noRecordsHint : undefined;
  return (
    <div class="empty">
      <p class="empty-title">
        {isPastEnd ? texts.pastEnd : isFiltered ? texts.noMatches : texts.noRecords(resource.name)}
      </p>
      {!isPastEnd && hint !== undefined && <p>{hint}</p>}
    </div>
  );
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
