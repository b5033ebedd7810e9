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

/** Saves the whole list, as it is searched, filtered and ordered, in a form for other programs. */
export function ExportMenu({
  list,
  endings,
  path,
  query,
}: {
  readonly list: Operation;
  /** The endings of the path that send a file. */
  readonly endings: readonly string[];
  readonly path: string;
  readonly query: URLSearchParams;
}): JSX.Element | null {
  const [isWaiting, setWaiting] = useState(false);
  if (endings.length === 0) return null;
  const save = async (ending: string): Promise<void> => {
    setWaiting(true);
    try {
      const url = hrefOf(`${path}.${ending}`, unpaged(list, query), new URLSearchParams());
      const { body, headers } = await sendForFile(url);
      saveFile(body, nameOf(headers) ?? `${path.split('/').at(-1)}.${ending}`);
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
      {endings.map((ending) => (
        <button
          key={ending}
          type="button"
          class="plain"
          onClick={({ currentTarget }) => {
            closeMenu(currentTarget);
            if (!isWaiting) void save(ending);
          }}
        >
          {texts.exportAs(ending)}
        </button>
      ))}
    </Menu>
  );
}

/** The name that the server gives to the file. */
function nameOf(headers: Headers): string | undefined {
  return /filename="([^"/\\]+)"/.exec(headers.get('content-disposition') ?? '')?.[1];
}
