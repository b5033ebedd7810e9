import { connect } from 'node:net';

/** The time without data after which the client stops waiting. */
const SILENCE_MS = 5000;

/** The body of every error. */
export interface ErrorBody {
  error: string;
  code: string;
  details?: { in: string; path: string; message: string }[];
}

export interface Answer<Body = ErrorBody> {
  status: number;
  headers: Headers;
  /** Parsed as JSON; undefined without a body. */
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
  /** Stops waiting for a response. */
  signal?: AbortSignal;
}

/** A client of one server that adds nothing to the requests of a test. */
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
    const init: RequestInit = { method, headers, redirect: 'manual' };
    if (body !== undefined) init.body = body;
    if (options.signal !== undefined) init.signal = options.signal;
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

  /** Sends raw bytes and returns the first response on the connection; undefined if it closes without one. */
  raw(bytes: string | Uint8Array): Promise<Answer | undefined> {
    const { hostname, port } = new URL(this.url);
    return new Promise((resolve) => {
      let received = Buffer.alloc(0);
      const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes));
      const settle = (answer: Answer | undefined): void => {
        resolve(answer);
        socket.destroy();
      };
      socket.setTimeout(SILENCE_MS, () => settle(undefined));
      socket.on('error', () => settle(parseResponse(received)));
      socket.on('close', () => settle(parseResponse(received)));
      socket.on('data', (chunk) => {
        received = Buffer.concat([received, chunk]);
        const answer = parseResponse(received);
        if (answer !== undefined) settle(answer);
      });
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

/** Undefined until the complete response has arrived. */
function parseResponse(received: Buffer): Answer | undefined {
  const end = received.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = received.subarray(0, Math.max(0, end)).toString().split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1];
  if (status === undefined) return undefined;
  const headers = new Headers(
    lines.map(
      (line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as [string, string],
    ),
  );
  const entity = received.subarray(end + 4);
  const length = Number(headers.get('content-length') ?? 0);
  if (entity.length < length) return undefined;
  const text = entity.subarray(0, length).toString();
  return { status: Number(status), headers, text, body: parse(text) as ErrorBody };
}
