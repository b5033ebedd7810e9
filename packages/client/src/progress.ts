/// <reference lib="dom" />
/** How much of a request's body has been sent. */
export interface UploadProgress {
  /** Bytes sent so far. */
  readonly loaded: number;
  /** Bytes of the whole body: files, and the form data around them. */
  readonly total: number;
}

/** The statuses whose responses have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Makes a `fetch` that reports the progress of an upload, for the option `fetch` of a call or of a client. It uses
 * `XMLHttpRequest`, because `fetch` does not report progress. Without `XMLHttpRequest` (Node, service workers), the platform's
 * `fetch` sends the request, and no progress is reported. If a request is sent again with a renewed token, progress starts again.
 *
 * It supports everything that the client sends: the method, headers, body, signal and `credentials: 'include'`. A body cannot be a
 * stream. From a page of another origin, browsers send a preflight before every upload with progress.
 *
 * @example
 * const fetch = fetchWithProgress(({ loaded, total }) => (bar.value = loaded / (total || 1)));
 * await api.tickets.create({ title: 'Broken', attachment }, { fetch });
 */
export function fetchWithProgress(
  onProgress: (progress: UploadProgress) => void,
): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    if (typeof XMLHttpRequest === 'undefined') return fetch(url, init);
    const { signal, body } = init;
    if (body instanceof ReadableStream) throw new TypeError('fetchWithProgress: a stream cannot be sent');
    signal?.throwIfAborted();
    const request = requestOf(url, init);
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress({ loaded, total }));
    const abort = (): void => request.abort();
    signal?.addEventListener('abort', abort);
    try {
      return await answerOf(request, body);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  };
}

function requestOf(url: string, { method = 'GET', headers, credentials }: RequestInit): XMLHttpRequest {
  const request = new XMLHttpRequest();
  request.open(method, url);
  request.responseType = 'blob';
  request.withCredentials = credentials === 'include';
  for (const [name, value] of new Headers(headers)) request.setRequestHeader(name, value);
  return request;
}

/** Sends a request. Rejects with a TypeError if no response comes, as `fetch` does. */
async function answerOf(
  request: XMLHttpRequest,
  body: Exclude<RequestInit['body'], ReadableStream>,
): Promise<Response> {
  await new Promise((resolve, reject) => {
    const fail = (): void => reject(new TypeError('Failed to fetch'));
    request.addEventListener('load', resolve);
    request.addEventListener('error', fail);
    request.addEventListener('abort', fail);
    request.send(body);
  });
  const { status, statusText } = request;
  const answered = WITHOUT_BODY.has(status) ? null : (request.response as Blob);
  return new Response(answered, { status, statusText, headers: headersOf(request) });
}

/** Parses the response headers, one per line. */
function headersOf(request: XMLHttpRequest): Headers {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().trim().split('\r\n')) {
    const end = line.indexOf(':');
    if (end > 0) headers.append(line.slice(0, end), line.slice(end + 1).trim());
  }
  return headers;
}
