import { connect } from 'node:net';

/** A connection of pg, as far as it is needed; the secret key is no part of its public interface. */
export interface CancellableClient {
  readonly processID: number;
  readonly secretKey: number;
  readonly host: string;
  readonly port: number;
}

const CANCEL_REQUEST = 80_877_102;
/** The server closes the connection when it has cancelled the statement; a firewall may never say anything. */
const PATIENCE_MS = 2000;

/**
 * Asks PostgreSQL to cancel the statement that a connection runs, as its protocol has it (CancelRequest): over a connection
 * of its own, so that it does not depend on the pool. Returns a function that calls another once the server has taken note,
 * or cannot be asked.
 */
export function cancelStatement({ host, port, processID, secretKey }: CancellableClient): (then: () => void) => void {
  const message = Buffer.alloc(16);
  for (const [place, value] of [message.length, CANCEL_REQUEST, processID, secretKey].entries()) {
    message.writeInt32BE(value, place * 4);
  }
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  socket.on('error', () => {});
  socket.end(message);
  socket.resume();
  return (then) => void (socket.closed ? then() : socket.once('close', then));
}
