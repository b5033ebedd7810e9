import type { JSX } from 'preact';
import type { Operation } from './api-model.ts';
import { changed, type PageFacts, pageParameter } from './list-query.ts';
import { texts } from '../src/texts.ts';

const SIZES = [10, 20, 50, 100, 200];

/** Which part of the list this is, and the way to the other parts. */
export function Pager({
  list,
  facts,
  query,
  isLive,
  onQuery,
}: {
  readonly list: Operation;
  readonly facts: PageFacts;
  readonly query: URLSearchParams;
  /** True if changes show by themselves. */
  readonly isLive: boolean;
  readonly onQuery: (query: URLSearchParams) => void;
}): JSX.Element {
  const { previous, next } = facts;
  const size = pageParameter(list, 'size');
  const most = size?.schema?.maximum ?? Infinity;
  const current = Number(query.get(size?.name ?? '') ?? size?.schema?.default ?? 0);
  const sizes = [...new Set([...SIZES.filter((each) => each <= most), current])].filter((each) => each > 0);
  return (
    <nav class="pager" aria-label={texts.pages}>
      <span role="status">{placeText(facts)}</span>
      {isLive && (
        <span class="live" title={texts.liveHint}>
          {texts.live}
        </span>
      )}
      {size !== undefined && (
        <label>
          {texts.pageSize}{' '}
          <select
            value={String(current)}
            onChange={({ currentTarget }) => onQuery(changed(list, query, { [size.name]: currentTarget.value }))}
          >
            {sizes
              .toSorted((left, right) => left - right)
              .map((each) => (
                <option key={each} value={String(each)}>
                  {each}
                </option>
              ))}
          </select>
        </label>
      )}
      <span class="buttons">
        <button type="button" aria-disabled={previous === undefined} onClick={() => previous && onQuery(previous)}>
          {texts.previous}
        </button>
        <button type="button" aria-disabled={next === undefined} onClick={() => next && onQuery(next)}>
          {texts.next}
        </button>
      </span>
    </nav>
  );
}

function placeText({ rows, first, count }: PageFacts): string {
  if (rows === 0) return texts.countOf(count);
  return first === undefined ? texts.onThisPage(rows, count) : texts.range(first, first + rows - 1, count);
}
