/** An application as `fastify generate` makes it. With `--options`, `fastify start` uses the options of the server. */
import autoload from '@fastify/autoload';
import { serverOptions } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import { join } from 'node:path';

export const options = serverOptions();

// The command refuses an async function that does not take both arguments.
// oxlint-disable-next-line import/no-default-export -- @fastify/autoload and fastify-cli look for it
export default async function app(instance: FastifyInstance, given: object): Promise<void> {
  void instance.register(autoload, { dir: join(import.meta.dirname, 'plugins'), options: given });
  void instance.register(autoload, { dir: join(import.meta.dirname, 'routes'), options: given });
}
