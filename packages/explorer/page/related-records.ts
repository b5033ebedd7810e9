import { useEffect, useState } from 'preact/hooks';
import { recordPathOf, type Resource } from './api-model.ts';
import { Refusal, send } from './exchanges.ts';
import { hasParameter, pageParameter } from './list-query.ts';
import { isRow, isTitle, type Row, rowsOf, textOf, titleOf } from './records.ts';

/** Records of another collection that may be meant. */
export interface Proposals {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  /** Undefined unless the server has refused the search, or was silent. */
  readonly refusal: Refusal | undefined;
}

/** As many records are proposed at once. */
const PROPOSALS = 20;
/** As many records of a collection that cannot be searched are looked through. */
const LOOKED_THROUGH = 100;
/** The time between the last letter and the question, in milliseconds. */
const PAUSE_MS = 200;

/** Searches a collection for what is typed; undefined while it searches. */
export function useProposals(target: Resource, text: string | undefined): Proposals | undefined {
  const [found, setFound] = useState<Proposals>();
  useEffect(() => {
    setFound(undefined);
    if (text === undefined) return;
    const controller = new AbortController();
    const ask = (): void => {
      propose(target, text, controller.signal).then(setFound, (error: unknown) => {
        if (controller.signal.aborted) return;
        if (!(error instanceof Refusal)) throw error;
        setFound({ rows: [], hasMore: false, refusal: error });
      });
    };
    const timer = setTimeout(ask, text === '' ? 0 : PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [target, text]);
  return found;
}

async function propose(target: Resource, text: string, signal: AbortSignal): Promise<Proposals> {
  const list = target.list!;
  const query = new URLSearchParams();
  const isSearched = hasParameter(list, 'search');
  if (text.trim() !== '' && isSearched) query.set('search', text);
  const size = pageParameter(list, 'size')?.name;
  if (size !== undefined) query.set(size, String(isSearched ? PROPOSALS : LOOKED_THROUGH));
  const { body } = await send({ operation: list, url: `${target.path}?${query}`, signal });
  const found = rowsOf(body);
  const rows = isSearched
    ? found
    : found.filter((row) => titleOf(target, row).toLowerCase().includes(text.trim().toLowerCase()));
  return {
    rows: rows.slice(0, PROPOSALS),
    hasMore: rows.length > PROPOSALS || (isRow(body) && body['next'] === true),
    refusal: undefined,
  };
}

/** The title of the record that has a key. */
interface Label {
  readonly key: string;
  readonly title: string;
}

/**
 * Finds the title of the record that a field refers to, if the field has the key by which records are found. The second
 * function tells a title that is known already.
 */
export function useLabel(target: Resource, field: string, value: unknown): [string | undefined, (row: Row) => void] {
  const [label, setLabel] = useState<Label>();
  const { retrieve, path, key } = target;
  const wanted = textOf(value);
  const remember = (row: Row): void => setLabel({ key: textOf(row[field]), title: titleOf(target, row) });
  useEffect(() => {
    // A name says by itself which record it is.
    const isSaid = wanted === '' || isTitle(field) || label?.key === wanted;
    if (isSaid || field !== key || retrieve === undefined) return;
    const controller = new AbortController();
    const url = recordPathOf(target, path, wanted);
    if (url === undefined) return;
    send({ operation: retrieve, url, signal: controller.signal }).then(
      ({ body }) => isRow(body) && remember(body),
      (error: unknown) => {
        if (!(error instanceof Refusal) && !controller.signal.aborted) throw error;
      },
    );
    return () => controller.abort();
  }, [target, field, wanted]);
  return [label?.key === wanted ? label.title : undefined, remember];
}
