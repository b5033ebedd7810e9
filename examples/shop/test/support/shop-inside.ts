import type { FastifyInstance } from 'fastify';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { buildApp } from '../../src/app.ts';
import { readSettings } from '../../src/settings.ts';
import { DEFAULTS, RunningShop, type Variables } from './running-shop.ts';

/** A shop in the process of the test, which saves the start of another; closed when the test ends. */
export class ShopInside extends RunningShop {
  #app: FastifyInstance | undefined;

  /** Listens with these variables and no others; gives the port. */
  async start(t: Test, variables: Variables): Promise<number> {
    const settings = readSettings({ ...DEFAULTS, ...variables });
    const app = await buildApp({ ...settings, terminal: false }, undefined, undefined, {
      write: (line) => this.keep(line),
    });
    this.#app = app;
    t.teardown(() => this.stop());
    await app.listen({ host: settings.host, port: settings.port });
    return (app.server.address() as AddressInfo).port;
  }

  override async stop(): Promise<void> {
    await this.#app?.close();
  }
}
