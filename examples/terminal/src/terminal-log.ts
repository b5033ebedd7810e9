import { type FastifyInstance, LogController } from 'fastify';
import pretty from 'pino-pretty';

/** The log options of Fastify: readable lines on a terminal, JSON for programs anywhere else. */
export function logOptions(isTerminal: boolean, output: NodeJS.WritableStream = process.stdout) {
  if (!isTerminal) return { logger: true as const };
  const stream = pretty({
    colorize: true,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname,reqId',
    sync: true,
    singleLine: true,
    destination: output,
  });
  // The line of a request is written after its response.
  return { logger: { stream }, logController: new LogController({ disableRequestLogging: true }) };
}

/** Writes a line for each request at info: method, path, status, duration, and the reason of a 4xx. */
export function logRequests(app: FastifyInstance): void {
  const reasons = new WeakMap<object, string>();
  app.addHook('onSend', async (request, reply, payload) => {
    const reason = reply.statusCode >= 400 && reply.statusCode < 500 ? reasonOf(payload) : undefined;
    if (reason !== undefined) reasons.set(request, reason);
    return payload;
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method, url, log } = request;
    const line = `${method.padEnd(6)} ${printable(url)} ${reply.statusCode} ${reply.elapsedTime.toFixed(1)} ms`;
    const reason = reasons.get(request);
    log.info(reason === undefined ? line : `${line}: ${printable(reason)}`);
  });
}

/** Reads the sentence of an error's body. */
function reasonOf(payload: unknown): string | undefined {
  if (typeof payload !== 'string') return undefined;
  try {
    const { error } = JSON.parse(payload) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Removes control characters, because the text comes from a client. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?');
}
