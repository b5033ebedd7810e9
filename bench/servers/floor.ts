/** floor: Fastify that sends a constant of the same size. No server on Fastify can be faster. */
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Answer, type BenchServer, serve } from './serve.ts';

await serve(async (): Promise<BenchServer> => {
  let constants: ReadonlyMap<string, Answer> = new Map();
  const app = fastify();

  const send = (request: FastifyRequest, reply: FastifyReply): void => {
    const answer = constants.get(request.url);
    if (answer === undefined) return void reply.code(404).send();
    if (answer.location !== null) reply.header('location', answer.location);
    reply.code(answer.status).type('application/json; charset=utf-8').send(answer.body);
  };
  app.get('/api/products', send);
  app.get('/api/products/:pk', send);
  app.get('/api/accounts', send);
  app.get('/api/baskets', send);
  app.get('/api/members/products/:pk', send);
  app.post('/api/drafts', send);

  return { app, setConstants: (answers) => void (constants = answers) };
});
