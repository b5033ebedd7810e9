import type { FastifyInstance } from 'fastify';

export default async function greet(app: FastifyInstance): Promise<void> {
  app.get('/greet', async () => 'hello');
}
