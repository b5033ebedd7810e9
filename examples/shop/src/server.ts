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
  // What is wrong with a setting stands in its message; anything else is worth a stack.
  process.stderr.write(
    `${error instanceof ImproperlyConfigured ? `${error.name}: ${error.message}` : inspect(error)}\n`,
  );
  process.exit(1);
}
