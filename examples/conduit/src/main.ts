import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { buildApp } from './app.ts';
import { openDatabase } from './database.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));
const { DATABASE_URL, HOST, PORT, SECRET_KEY } = process.env;

const orm = await openDatabase(DATABASE_URL ?? `sqlite:${folder}conduit.sqlite`);
await orm.schema.update({ safe: true });
const app = await buildApp({ orm, secret: SECRET_KEY ?? randomBytes(32).toString('base64url'), logger: true });
app.addHook('onClose', () => orm.close());
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void app.close());

const address = await app.listen({ host: HOST ?? '127.0.0.1', port: Number(PORT ?? 3000) });
const url = address.replace('//127.0.0.1:', '//localhost:');
process.stdout.write(`
Conduit is listening on ${url}.
  ${url}/api    the explorer: look at it in a browser
  ${url}/docs   the reference

  curl -s ${url}/api/users -H 'content-type: application/json' \\
    -d '{"user":{"username":"ann","email":"ann@example.com","password":"red gate north"}}'
  curl -s '${url}/api/articles?limit=5'

`);
