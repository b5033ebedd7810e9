import { randomBytes } from 'node:crypto';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { buildApp } from './app.ts';
import { openDatabase } from './database.ts';
import { PASSWORD, PEOPLE, seed } from './seed.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));
const { DATABASE_URL, HOST, PORT, SECRET_KEY } = process.env;

const orm = await openDatabase(DATABASE_URL ?? `sqlite:${folder}tracker.sqlite`);
await seed(orm);
const app = await buildApp({
  orm,
  uploads: `${folder}uploads`,
  secret: SECRET_KEY ?? randomBytes(32).toString('base64url'),
  log: isatty(process.stdout.fd) ? 'terminal' : 'json',
});
app.addHook('onClose', () => orm.close());
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void app.close());

const address = await app.listen({ host: HOST ?? '127.0.0.1', port: Number(PORT ?? 3000) });
const url = address.replace('//127.0.0.1:', '//localhost:');
const [owner] = PEOPLE;
process.stdout.write(`
The tracker is listening on ${url}.
  ${url}/api    the explorer: look at it in a browser, and log in as one of these with ${PASSWORD}
  ${url}/docs   the reference

${PEOPLE.map(({ email, about }) => `  ${email.padEnd(20)}${about}`).join('\n')}

  TOKEN=$(curl -s ${url}/api/auth/login -H 'content-type: application/json' \\
    -d '${JSON.stringify({ email: owner.email, password: PASSWORD })}' | sed 's/.*:"\\(.*\\)".*/\\1/')
  curl -H "authorization: Bearer $TOKEN" '${url}/api/projects/lighthouse/tickets?status=open&sort=-priority'
  curl -H "authorization: Bearer $TOKEN" '${url}/api/tickets?search=login&label=bug'
  curl -H "authorization: Bearer $TOKEN" -H 'accept: text/csv' '${url}/api/tickets?sort=due_on'
  curl -H "authorization: Bearer $TOKEN" -F 'file=@README.md;type=text/plain' ${url}/api/projects/lighthouse/tickets/1/attachments

`);
