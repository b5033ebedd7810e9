import type { ServerResponse } from 'node:http';
import { constants, type Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';

/** Node's internal counts of a socket's writes. The public counts ignore the written part of a single long write. */
interface SocketHandle {
  readonly bytesWritten?: number;
  readonly writeQueueSize?: number;
  readonly _parent?: SocketHandle;
}

/** The slowest allowed rate of a client that has an answer to read. */
export interface LeastRate {
  /** The period of measurement, in ticks of the clock. */
  readonly ticks: number;
  /** The bytes that the client must read in that period. */
  readonly bytes: number;
}

/** Measures how fast a client reads an answer, with or without TLS, over HTTP/1.1 or HTTP/2. */
export class ResponseProgress {
  readonly #raw: ServerResponse | Http2ServerResponse;
  #since: number;
  #taken: number;

  constructor(raw: ServerResponse | Http2ServerResponse, tick: number) {
    this.#raw = raw;
    this.#since = tick;
    this.#taken = this.#takenBytes();
  }

  /** Reports whether the client reads too slowly. Periods in which no data waited for it do not count. */
  isTooSlow(tick: number, least: LeastRate): boolean {
    if (waitsForClient(this.#raw) && tick - this.#since < least.ticks) return false;
    const taken = this.#takenBytes();
    if (waitsForClient(this.#raw) && taken - this.#taken < least.bytes) return true;
    this.#since = tick;
    this.#taken = taken;
    return false;
  }

  /** Returns the bytes of the connection that the system has accepted for the client. */
  #takenBytes(): number {
    const socket = socketOf(this.#raw);
    const { _handle: handle } = (socket ?? {}) as { _handle?: SocketHandle | null };
    // TLS counts a long write as one unit. The connection below it counts the bytes.
    const { _parent: below = handle } = handle ?? {};
    const { bytesWritten, writeQueueSize } = below ?? {};
    if (bytesWritten !== undefined) return bytesWritten - (writeQueueSize ?? 0);
    return socket === null ? 0 : socket.bytesWritten - socket.writableLength;
  }
}

/**
 * Reports whether a part of an answer waits for its client. An answer behind another one on the same connection has no
 * socket yet. It waits for that answer, not for the client.
 */
export function waitsForClient(raw: ServerResponse | Http2ServerResponse): boolean {
  return raw.headersSent && socketOf(raw) !== null && raw.writableLength > 0;
}

/** Ends an answer and its connection. With HTTP/2, ends only the answer. */
export function cutOff(raw: ServerResponse | Http2ServerResponse): void {
  if ('stream' in raw) raw.stream.close(constants.NGHTTP2_CANCEL);
  else raw.destroy();
}

function socketOf(raw: ServerResponse | Http2ServerResponse): Socket | null {
  if (!('stream' in raw)) return raw.socket;
  return raw.stream.session?.socket ?? null;
}
