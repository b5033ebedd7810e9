import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Operation } from './api-model.ts';
import { Refusal, sendForFile, sentenceOf } from './exchanges.ts';
import { unpaged } from './list-query.ts';
import { hrefOf } from './location.ts';
import { closeMenu, Menu } from './menu.tsx';
import { notice } from './notice.tsx';
import { saveFile } from './save-file.ts';
import { texts } from '../src/texts.ts';

const ENDINGS: Readonly<Record<string, string>> = { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson' };

/** Saves the whole list, as it is searched, filtered and ordered, in a form for other programs. */
export function ExportMenu({
  list,
  path,
  query,
}: {
  readonly list: Operation;
  readonly path: string;
  readonly query: URLSearchParams;
}): JSX.Element | null {
  const [isWaiting, setWaiting] = useState(false);
  const types = list.answerTypes.filter((type) => type in ENDINGS);
  if (types.length === 0) return null;
  const save = async (type: string): Promise<void> => {
    setWaiting(true);
    try {
      const url = hrefOf(path, unpaged(query), new URLSearchParams());
      const { body, headers } = await sendForFile(url, { accept: type });
      saveFile(body, nameOf(headers) ?? `${path.split('/').at(-1)}.${ENDINGS[type]}`);
      notice.set(texts.exported);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      notice.set(sentenceOf(error));
    } finally {
      setWaiting(false);
    }
  };
  return (
    <Menu label={isWaiting ? texts.exporting : texts.exportList}>
      {types.map((type) => (
        <button
          key={type}
          type="button"
          class="plain"
          onClick={({ currentTarget }) => {
            closeMenu(currentTarget);
            if (!isWaiting) void save(type);
          }}
        >
          {texts.exportAs(ENDINGS[type]!)}
        </button>
      ))}
    </Menu>
  );
}

/** The name that the server gives to the file. */
function nameOf(headers: Headers): string | undefined {
  return /filename="([^"/\\]+)"/.exec(headers.get('content-disposition') ?? '')?.[1];
}
