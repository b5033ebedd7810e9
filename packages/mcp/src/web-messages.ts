/** The SDK speaks in messages of the `fetch` standard, and always wants to be allowed to stream. */
import type { FastifyRequest } from 'fastify';

const STREAM = 'text/event-stream';
const BOTH = `application/json, ${STREAM}`;

/** Reports whether a client reads event streams. */
export function acceptsStreams({ headers: { accept } }: FastifyRequest): boolean {
  return accept?.toLowerCase().includes(STREAM) === true;
}

/** Reports whether a client reads JSON: it says so, or says nothing. */
function acceptsJson({ headers: { accept } }: FastifyRequest): boolean {
  return accept === undefined || accept === '' || /(?:application\/json|application\/\*|\*\/\*)/i.test(accept);
}

/** Makes the request for the SDK. Its body is already parsed. A client that reads JSON alone is served too. */
export function webRequest(request: FastifyRequest, signal: AbortSignal): Request {
  const { headers, url } = request;
  const kept = Object.entries(headers).filter(([name]) => /^(?:accept|content-type|mcp-[\w-]+)$/.test(name));
  const sent = new Headers(kept.map(([name, value]) => [name, String(value)] as [string, string]));
  if (acceptsJson(request)) sent.set('accept', BOTH);
  return new Request(new URL(url, 'http://localhost'), { method: 'POST', headers: sent, signal });
}

/** Makes JSON of the one message in a stream. The tools send nothing before their result. */
export async function withoutStream(response: Response): Promise<Response> {
  if (response.headers.get('content-type')?.startsWith(STREAM) !== true) return response;
  const lines = (await response.text()).split(/\r?\n/).filter((line) => line.startsWith('data:'));
  const messages = lines.map((line) => line.slice('data:'.length).trim()).filter((data) => data !== '');
  const headers = new Headers(response.headers);
  headers.set('content-type', 'application/json');
  return new Response(messages.at(-1) ?? null, { status: response.status, headers });
}
