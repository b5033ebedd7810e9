import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** A request as the server saw it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** The answer of a handler: a status, a body of JSON or a text, headers. */
export interface Given {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server that listens and answers as a test says; `seen` has the requests in order. */
export async function scriptedServer(
  t: Test,
  answer: (request: Seen, times: number, raw: ServerResponse) => Given | undefined | Promise<Given | undefined>,
): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of incoming) body += String(chunk);
    const request = { method: incoming.method!, url: incoming.url!, headers: incoming.headers, body };
    seen.push(request);
    const given = await answer(request, seen.length, response);
    if (given === undefined) return;
    const { status = 200, body: sent, headers } = given;
    const isText = typeof sent === 'string';
    response.writeHead(status, { ...(isText ? {} : { 'content-type': 'application/json' }), ...headers });
    response.end(sent === undefined ? undefined : isText ? sent : JSON.stringify(sent));
  };
  const server = createServer((incoming, response) => void serve(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}
