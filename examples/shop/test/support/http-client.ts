import { connect } from 'node:net';

/** What every error carries on the wire. */
export interface ErrorBody {
  error: string;
  code: string;
  details?: { in: string; path: string; message: string }[];
}

export interface Answer<Body = ErrorBody> {
  status: number;
  headers: Headers;
  /** Parsed as JSON; undefined where there is no body. */
  body: Body;
  text: string;
}

export interface RequestOptions {
  /** A bearer token. */
  token?: string | undefined;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: string | Uint8Array;
  headers?: Record<string, string>;
}

/** A client of one server: what it sends is what the test says, and nothing more. */
export class HttpClient {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async request<Body = ErrorBody>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<Body>> {
    const headers = new Headers(options.headers);
    if (options.token !== undefined) headers.set('authorization', `Bearer ${options.token}`);
    const body = 'json' in options ? JSON.stringify(options.json) : options.body;
    if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json');
    const init = { method, headers, redirect: 'manual' as const, ...(body === undefined ? {} : { body }) };
    const response = await fetch(this.url + path, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parse(text) as Body };
  }

  get<Body = ErrorBody>(path: string, options?: RequestOptions): Promise<Answer<Body>> {
    return this.request('GET', path, options);
  }

  post<Body = ErrorBody>(path: string, json: unknown, options?: RequestOptions): Promise<Answer<Body>> {
    return this.request('POST', path, { ...options, json });
  }

  put<Body = ErrorBody>(path: string, json: unknown, options?: RequestOptions): Promise<Answer<Body>> {
    return this.request('PUT', path, { ...options, json });
  }

  patch<Body = ErrorBody>(path: string, json: unknown, options?: RequestOptions): Promise<Answer<Body>> {
    return this.request('PATCH', path, { ...options, json });
  }

  delete<Body = ErrorBody>(path: string, options?: RequestOptions): Promise<Answer<Body>> {
    return this.request('DELETE', path, options);
  }

  /** Sends bytes as they are and gives the first answer on the connection, however odd; undefined where there is none. */
  raw(bytes: string | Uint8Array): Promise<Answer | undefined> {
    const { hostname, port } = new URL(this.url);
    return new Promise((done, fail) => {
      const chunks: Buffer[] = [];
      const socket = connect({ host: hostname, port: Number(port) }, () => socket.end(bytes));
      socket.on('data', (chunk) => chunks.push(chunk));
      socket.on('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ECONNRESET' || error.code === 'EPIPE' ? undefined : fail(error),
      );
      socket.on('close', () => done(parseAnswer(Buffer.concat(chunks).toString('utf8'))));
    });
  }
}

function parse(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`The body is not JSON: ${text}`);
  }
}

function parseAnswer(text: string): Answer | undefined {
  const [, status, head = '', body = ''] = /^HTTP\/1\.1 (\d{3})[^\r]*\r\n([^]*?)\r\n\r\n([^]*)$/.exec(text) ?? [];
  if (status === undefined) return undefined;
  const headers = new Headers(
    head
      .split('\r\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as [string, string]),
  );
  const length = headers.get('content-length');
  const entity = length === null ? body : Buffer.from(body).subarray(0, Number(length)).toString();
  return { status: Number(status), headers, text: entity, body: parse(entity) as ErrorBody };
}
