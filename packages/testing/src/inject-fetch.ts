import type { FastifyInstance } from 'fastify';

/** Statuses whose responses have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Makes a `fetch` that passes requests to an application without a network. */
export function injectFetch(app: FastifyInstance): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const request = new Request(url, init);
    const payload = Buffer.from(await request.arrayBuffer());
    request.signal.throwIfAborted();
    const answer = await app.inject({
      method: request.method as 'GET',
      url: request.url,
      headers: Object.fromEntries(request.headers),
      ...(payload.length > 0 && { payload }),
    });
    const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((each) => [name, String(each)] as [string, string]),
    );
    const body = WITHOUT_BODY.has(answer.statusCode) ? null : new Uint8Array(answer.rawPayload);
    return new Response(body, { status: answer.statusCode, headers });
  };
}
