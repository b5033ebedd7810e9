import type { FastifyInstance } from 'fastify';

// oxlint-disable-next-line import/no-default-export -- @fastify/autoload looks for it
export default async function greeting(app: FastifyInstance): Promise<void> {
  app.get('/loaded', async () => 'loaded');
}
