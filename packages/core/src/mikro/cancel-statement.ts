import { connect } from 'node:net';

/** The part of a pg connection that is needed. The secret key is not in its public interface. */
export interface CancellableClient {
  readonly processID: number;
  readonly secretKey: number;
  readonly host: string;
  readonly port: number;
}

const CANCEL_REQUEST = 80_877_102;
/** The server closes the connection when it has cancelled the statement. A firewall may never answer. */
const PATIENCE_MS = 2000;

/**
 * Asks PostgreSQL to cancel the running statement of a connection (CancelRequest). It opens a separate connection, as
 * the protocol requires, so it does not need the pool. Returns a function that calls its argument once the server has
 * reacted, or cannot be reached.
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
