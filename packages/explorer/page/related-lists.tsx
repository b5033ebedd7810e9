import type { JSX } from 'preact';
import { type Api, collectionsBelow, fillPath, recordPathOf, type Resource } from './api-model.ts';
import { countOf, urlOfFirst } from './list-query.ts';
import { isForbidden, isOffered } from './permissions.ts';
import { isRow, type Row, rowsOf, isList, textOf, titleAmong, titleOf } from './records.ts';
import { describe, type Kind, propertiesOf } from './schema.ts';
import { session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { useAnswer } from './use-answer.ts';
import { shortened } from './words.ts';

/** As many records of a list are shown beside the one above them. */
const SHOWN = 5;

/** The kinds of values that say something by themselves. */
const TEXTS: ReadonlySet<Kind> = new Set(['text', 'long text', 'choice']);

interface RelatedProps {
  readonly api: Api;
  readonly resource: Resource;
  /** The path of the record, or of the list below it. */
  readonly path: string;
}

/** The collections below a record, each with its first records. */
export function RelatedLists({ api, resource, path }: RelatedProps): JSX.Element | null {
  const person = useStore(session);
  // Whoever is not logged in is asked to on their pages.
  const below = collectionsBelow(api, resource).filter(({ list }) => !isForbidden(list, person));
  if (below.length === 0) return null;
  return (
    <ul class="below">
      {below.map((each) => (
        <RelatedList key={each.path} api={api} resource={each} path={fillPath(each.path, path)} />
      ))}
    </ul>
  );
}

function RelatedList({ api, resource, path }: RelatedProps): JSX.Element {
  const { list, name } = resource;
  const isRead = isOffered(list, useStore(session), path);
  const { answer } = useAnswer(isRead ? list : undefined, urlOfFirst(list!, path, SHOWN), isList);
  const rows = rowsOf(answer?.body);
  return (
    <li>
      <h2>
        <a href={path}>{name}</a> <span class="count">{countOf(answer?.body)?.toLocaleString()}</span>
      </h2>
      {answer !== undefined && rows.length === 0 && <p class="hint">{texts.noRecords(name)}</p>}
      <ul>
        {rows.slice(0, SHOWN).map((row, index) => {
          const href = resource.retrieve === undefined ? undefined : recordPathOf(resource, path, row[resource.key]);
          const words = <bdi>{shortened(wordsOf(api, resource, row), 80)}</bdi>;
          return <li key={index}>{href === undefined ? words : <a href={href}>{words}</a>}</li>;
        })}
      </ul>
    </li>
  );
}

/** What a record says: its title, or else what it belongs to and its first text. */
function wordsOf({ document }: Api, resource: Resource, row: Row): string {
  if (titleAmong(Object.keys(row)) !== undefined) return titleOf(resource, row);
  const schemas = new Map(propertiesOf(document, resource.row));
  const names = Object.keys(row).filter((name) => name !== resource.key);
  const named = names.map((name) => (isRow(row[name]) ? row[name]['name'] : undefined));
  const said = names.map((name) =>
    TEXTS.has(describe(document, schemas.get(name), name).kind) ? row[name] : undefined,
  );
  const words = [...named, ...said].map(textOf).filter((text) => text.trim() !== '');
  return words.length === 0 ? titleOf(resource, row) : words.slice(0, 2).join(' · ');
}
