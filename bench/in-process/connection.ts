import type { FastifyInstance } from 'fastify';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { BenchRequest } from '../workloads.ts';

type WriteCallback = (error?: Error | null) => void;

/** Characters of a response that an error quotes. */
const MOST_QUOTED = 1000;

/**
 * A connection without a network, kept alive from request to request: a socket of Node whose writes end here.
 *
 * Does the work of Node's HTTP server, from the moment when it has read the head of a request until the `close` of the response. Not
 * included: the work of the kernel, Node's work between bytes and the head of a request, and the header `Keep-Alive` of the response.
 */
export class Connection extends Socket {
  override readonly remoteAddress = '127.0.0.1';
  /** The bytes written since the last request. */
  #answer: unknown[] = [];

  override _read(): void {}

  override _write(chunk: unknown, _encoding: BufferEncoding, callback: WriteCallback): void {
    this.#answer.push(chunk);
    callback();
  }

  override _writev(chunks: readonly { readonly chunk: unknown }[], callback: WriteCallback): void {
    for (const { chunk } of chunks) this.#answer.push(chunk);
    callback();
  }

  /**
   * Passes one request to an application. Resolves when the response is written, in a separate turn of the event loop, like the next
   * request of a network. Rejects with the response if it is not a success (2xx).
   */
  exchange(app: FastifyInstance, { method, path, headers, body }: BenchRequest): Promise<void> {
    this.#answer = [];
    const request = new IncomingMessage(this);
    request.httpVersion = '1.1';
    request.httpVersionMajor = 1;
    request.httpVersionMinor = 1;
    request.method = method;
    request.url = path;
    request.headers = { host: '127.0.0.1', connection: 'keep-alive', ...headers };
    if (body !== undefined) {
      const bytes = Buffer.from(body);
      request.headers['content-length'] = String(bytes.length);
      request.push(bytes);
    }
    request.complete = true;
    request.push(null);

    return new Promise((resolve, reject) => {
      const response = new ServerResponse(request);
      response.shouldKeepAlive = true;
      response.assignSocket(this);
      response.once('finish', () => {
        if (!request.readableEnded) request.resume();
        response.detachSocket(this);
        process.nextTick(close, response);
      });
      // A socket that the application closes ends the response too, unfinished.
      response.once('close', () => {
        const { statusCode, writableFinished } = response;
        if (writableFinished && statusCode >= 200 && statusCode < 300) setImmediate(resolve);
        else reject(new Error(`${method} ${path} is answered in process with ${this.#quote()}`));
      });
      app.routing(request, response);
    });
  }

  #quote(): string {
    return this.#answer.join('').slice(0, MOST_QUOTED) || 'a closed connection';
  }
}

function close(response: ServerResponse): void {
  response.destroyed = true;
  response.emit('close');
}
