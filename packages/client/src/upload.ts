import { errorOfAnswer, unanswered } from './api-error.ts';
import type { Fetch } from './fetch.ts';
import type { CallOptions } from './options.ts';

/** A file that has been uploaded to the server's store, as a value in a body. */
export interface NamedUpload {
  readonly upload: string;
}

/** The options of `upload`; every one has a default. */
export interface UploadOptions extends Pick<CallOptions, 'token'> {
  /** Ends the upload. It then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Sends the bytes instead of the platform's `fetch`: `fetchWithProgress(…)`. */
  readonly fetch?: Fetch | undefined;
}

/** The fields of a view that accept an upload, from the bodies of create and update, with or without an envelope. */
type UploadField<View> = FieldIn<BodyOf<View, 'create', 0> | BodyOf<View, 'update', 0 | 1>>;

type BodyOf<View, Name, Index extends number> = View extends { readonly [Each in Name & string]: infer Call }
  ? Call extends (...args: infer Args) => unknown
    ? Exclude<Args[Index], string | number | bigint | undefined>
    : never
  : never;

type FieldIn<Body> = Body extends object
  ? FieldOf<Body> | { [Name in keyof Body]-?: FieldOf<Body[Name]> }[keyof Body]
  : never;

type FieldOf<Body> = Body extends readonly unknown[] | Blob | Date
  ? never
  : { [Name in keyof Body]-?: NamedUpload extends Body[Name] ? Name : never }[keyof Body] & string;

/** The action that begins an upload. */
interface UploadingView {
  readonly '/uploads': { post(wanted: object, options: CallOptions): Promise<Begun> };
}

interface Begun extends NamedUpload {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Uploads a file directly to the server's store: asks the view for a signed URL, and sends the bytes there. Use the
 * result as the field's value in a create or update within a day. It works for fields with `file({ direct: true })`.
 *
 * Rejects with the ApiError of the server or the store, and with a TypeError if `file` is not a file.
 *
 * @param field the name of the field in the body
 * @example
 * const attachment = await upload(api.tickets, 'attachment', new File(['…'], 'screen.png', { type: 'image/png' }));
 * await api.tickets.create({ title: 'Broken', attachment });
 */
export async function upload<View extends object>(
  view: View,
  field: UploadField<View>,
  file: Blob,
  { signal, token, fetch = globalThis.fetch }: UploadOptions = {},
): Promise<NamedUpload> {
  // JavaScript callers may pass `input.files` or a path.
  if (typeof (file as Partial<Blob>).size !== 'number') {
    throw new TypeError('upload(): the file must be a Blob or a File, such as input.files[0]');
  }
  const { name } = file as Blob & { readonly name?: string };
  const wanted = { field, name: name === undefined || name === '' ? 'file' : name, size: file.size, type: file.type };
  const begun = await (view as UploadingView)['/uploads'].post(wanted, { signal, token });
  // Without the query, because the signature must not appear in logs.
  const request = `${begun.method} ${begun.url.split('?')[0]}`;
  const init = { method: begun.method, headers: begun.headers, body: file, signal: signal ?? null };
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(begun.url, init);
    text = await answer.text();
  } catch (cause) {
    signal?.throwIfAborted();
    throw unanswered(request, cause);
  }
  if (!answer.ok) throw errorOfAnswer(request, answer, text);
  return { upload: begun.upload };
}
