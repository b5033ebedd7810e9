import { createApp } from './app.ts';
import { openDatabase } from './database.ts';

const { HOST = '127.0.0.1', PORT = '3000', SECRET_KEY } = process.env;
if (SECRET_KEY === undefined) throw new Error('Set SECRET_KEY, here or in .env: openssl rand -base64 32');

const orm = await openDatabase();
const app = await createApp(orm, SECRET_KEY);
await app.listen({ host: HOST, port: Number(PORT) });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

/** Finishes the requests in flight, then closes the database. */
async function stop() {
  await app.close();
  await orm.close();
}
