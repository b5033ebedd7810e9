import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Refusal, sendForFile, sentenceOf } from './exchanges.ts';
import { isFilePath } from './file-paths.ts';
import { notice } from './notice.tsx';
import { isRow } from './records.ts';
import { saveFile } from './save-file.ts';
import type { Described } from './schema.ts';
import { texts } from '../src/texts.ts';
import { shortened } from './words.ts';

/** A file that the API keeps. */
export interface StoredFileValue {
  readonly url: string;
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  /** The media type. */
  readonly type: string;
}

/** Returns the file that a value is, if the document declares its field as a file and its URL as a file's path; undefined otherwise. */
export function storedFileOf(value: unknown, { document, kind }: Described): StoredFileValue | undefined {
  if ((kind !== 'stored file' && kind !== 'file') || !isRow(value)) return undefined;
  const { url, name, size, type } = value;
  const isComplete = typeof name === 'string' && typeof size === 'number' && typeof type === 'string';
  return isComplete && typeof url === 'string' && isFilePath(document, url)
    ? (value as unknown as StoredFileValue)
    : undefined;
}

/** The largest picture that is fetched to be looked at, in bytes, and the largest of a list, which may have many. */
const MAX_PREVIEW_BYTES = 5_000_000;
const MAX_THUMBNAIL_BYTES = 500_000;

/** A file by its name, to be saved, with a look at it if it is a picture; in full with its size and its type. */
export function StoredFile({ file, isFull = false }: { readonly file: StoredFileValue; readonly isFull?: boolean }) {
  const { url, name, size, type } = file;
  const save = async (): Promise<void> => {
    try {
      saveFile((await sendForFile(url)).body, name);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      notice.set(sentenceOf(error));
    }
  };
  const isPicture = type.startsWith('image/') && size <= (isFull ? MAX_PREVIEW_BYTES : MAX_THUMBNAIL_BYTES);
  return (
    <span class="file">
      {isPicture && !isFull && <Picture url={url} name={name} class="thumbnail" />}
      <button type="button" class="link" title={texts.saveFile(name)} onClick={() => void save()}>
        <bdi>{shortened(name, isFull ? 200 : 60)}</bdi>
      </button>
      {isFull && (
        <span class="hint">
          {' '}
          {texts.bytes(size)} · {type}
        </span>
      )}
      {isPicture && isFull && <Picture url={url} name={name} class="preview" />}
    </span>
  );
}

interface PictureProps {
  readonly url: string;
  readonly name: string;
  readonly class: string;
}

function Picture({ url, name, class: kind }: PictureProps): JSX.Element | null {
  const [source, setSource] = useState<string>();
  useEffect(() => {
    const controller = new AbortController();
    let made: string | undefined;
    sendForFile(url, controller.signal).then(
      ({ body }) => {
        if (controller.signal.aborted) return;
        made = URL.createObjectURL(body);
        setSource(made);
      },
      (error: unknown) => {
        if (!(error instanceof Refusal) && !controller.signal.aborted) throw error;
      },
    );
    return () => {
      controller.abort();
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [url]);
  return source === undefined ? null : <img class={kind} src={source} alt={texts.previewOf(name)} />;
}
