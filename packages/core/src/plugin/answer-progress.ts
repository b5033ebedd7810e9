import type { ServerResponse } from 'node:http';
import { constants, type Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';

/** What Node keeps of a socket's writes: the public counts know no part of a single long one. */
interface SocketHandle {
  readonly bytesWritten?: number;
  readonly writeQueueSize?: number;
  readonly _parent?: SocketHandle;
}

/** The least that a client has to take of an answer which waits for it. */
export interface LeastRate {
  /** The time in which it has to take it, in ticks of the clock. */
  readonly ticks: number;
  /** The bytes that it has to take in that time. */
  readonly bytes: number;
}

/** Watches how quickly a client takes an answer, with TLS or without, over HTTP/1.1 or HTTP/2. */
export class AnswerProgress {
  readonly #raw: ServerResponse | Http2ServerResponse;
  #since: number;
  #taken: number;

  constructor(raw: ServerResponse | Http2ServerResponse, tick: number) {
    this.#raw = raw;
    this.#since = tick;
    this.#taken = this.#takenBytes();
  }

  /** Tells whether the client has taken less than it has to. Time in which nothing waited for it does not count. */
  isTooSlow(tick: number, least: LeastRate): boolean {
    if (waitsForClient(this.#raw) && tick - this.#since < least.ticks) return false;
    const taken = this.#takenBytes();
    if (waitsForClient(this.#raw) && taken - this.#taken < least.bytes) return true;
    this.#since = tick;
    this.#taken = taken;
    return false;
  }

  /** Returns the bytes of the connection that the system has taken for the client. */
  #takenBytes(): number {
    const socket = socketOf(this.#raw);
    const { _handle: handle } = (socket ?? {}) as { _handle?: SocketHandle | null };
    // TLS counts a long write as taken or waiting as a whole; the connection below it counts its bytes.
    const { _parent: below = handle } = handle ?? {};
    const { bytesWritten, writeQueueSize } = below ?? {};
    if (bytesWritten !== undefined) return bytesWritten - (writeQueueSize ?? 0);
    return socket === null ? 0 : socket.bytesWritten - socket.writableLength;
  }
}

/**
 * Tells whether a part of an answer waits for its client. One that stands behind another of the same connection has no socket
 * yet: it waits for that.
 */
export function waitsForClient(raw: ServerResponse | Http2ServerResponse): boolean {
  return raw.headersSent && socketOf(raw) !== null && raw.writableLength > 0;
}

/** Ends an answer and its connection; of HTTP/2, the answer alone. */
export function cutOff(raw: ServerResponse | Http2ServerResponse): void {
  if ('stream' in raw) raw.stream.close(constants.NGHTTP2_CANCEL);
  else raw.destroy();
}

function socketOf(raw: ServerResponse | Http2ServerResponse): Socket | null {
  if (!('stream' in raw)) return raw.socket;
  return raw.stream.session?.socket ?? null;
}
