/** Serves live messages on PORT, in a separate process. */
import fastify from 'fastify';
import { ModelViewSet, readShape, Router, serverOptions, viewset } from '@viewset/core';
import { live } from '@viewset/live';
import { Message, openMessages } from './message.ts';

class MessageViewSet extends ModelViewSet(Message, {
  read: readShape(Message, ['id', 'room', 'at']),
  filterFields: { room: 'room' },
  ordering: ['-id'],
  live: true,
}) {}

const app = fastify(serverOptions());
await app.register(viewset, { orm: await openMessages(process.env['DATABASE_URL']!) });
await app.register(live, { pollMs: 100, maxConnections: 100_000, maxConnectionsPerUser: 100_000 });
await app.register(new Router().register('messages', MessageViewSet).plugin);
await app.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' });
process.send!('ready');
process.on('message', () => process.send!({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() }));
