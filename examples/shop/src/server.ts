import { HealthRegistry, ImproperlyConfigured } from '@viewset/core';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { buildApp } from './app.ts';
import { examples } from './examples.ts';
import { readSettings } from './settings.ts';
import { stopOnSignals } from './shutdown.ts';

try {
  const settings = readSettings();
  const health = new HealthRegistry();
  const app = await buildApp(settings, health);
  stopOnSignals(app, { health, delayMs: settings.shutdownDelaySeconds * 1000 });
  const url = await app.listen({
    host: settings.host,
    port: settings.port,
    listenTextResolver: (address) => `server at ${address}`,
  });
  const { address, port } = app.server.address() as AddressInfo;
  app.log.info({ address, port, url }, 'listening');
  if (!settings.production) process.stdout.write(examples(url, settings));
} catch (error) {
  process.stderr.write(`${reason(error)}\n`);
  process.exit(1);
}

/** The error of a setting is explained by its message; other errors are printed with their stack. */
function reason(error: unknown): string {
  if (error instanceof ImproperlyConfigured) return `${error.name}: ${error.message}`;
  const { code, port } = error as { code?: unknown; port?: unknown };
  if (code === 'EADDRINUSE') return `Port ${String(port)} is taken: set PORT to another, or to 0 for any that is free`;
  return inspect(error);
}
