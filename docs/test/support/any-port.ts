/** Loaded before a documented server: whatever port it asks for, it gets a free one, and tells the test which. */
import { Server, type AddressInfo } from 'node:net';

type Listen = (this: Server, ...args: unknown[]) => Server;

// oxlint-disable-next-line typescript/unbound-method -- called with the server as its `this`, below
const listen = Server.prototype.listen as unknown as Listen;
Server.prototype.listen = function (this: Server, ...args: unknown[]) {
  const [options, ...rest] = args;
  this.once('listening', () => process.send?.((this.address() as AddressInfo).port));
  return listen.call(this, typeof options === 'object' ? { ...options, host: '127.0.0.1', port: 0 } : 0, ...rest);
} as typeof Server.prototype.listen;
