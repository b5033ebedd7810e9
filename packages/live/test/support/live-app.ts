import type { MikroORM } from '@mikro-orm/core';
import fastify, { type FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import { Router, serverOptions, type ViewSet, viewset } from '@viewset/core';
import { live, type LiveOptions } from '../../src/index.ts';

interface LiveApp {
  readonly orm: MikroORM;
  readonly View: new () => ViewSet;
  readonly options?: LiveOptions;
  /** Adds the hooks of the application. */
  readonly prepare?: (app: FastifyInstance) => void;
}

/** Serves a view with live lists at `/tasks`. Returns its address, a function that writes, and the messages of the errors that were logged. */
export async function startLive(t: Test, { orm, View, options, prepare }: LiveApp) {
  const errors: string[] = [];
  const note = (line: string): void => void errors.push((JSON.parse(line) as { msg: string }).msg);
  const app = fastify({
    ...serverOptions(),
    forceCloseConnections: true,
    logger: { level: 'error', stream: { write: note } },
  });
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  prepare?.(app);
  await app.register(live, { windowMs: 10, pollMs: 60_000, ...options });
  await app.register(new Router().register('tasks', View).plugin);
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/tasks`;
  const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  return { app, url, send, errors };
}
