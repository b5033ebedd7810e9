/** Sends the cases by openapi-fetch, and reports what it reads. */
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi.d.ts';

const [baseUrl = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl });
const report = (name: string, read: unknown) =>
  fetch(`${baseUrl}/seen/openapi-fetch/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: JSON.stringify(read),
  });

const cases = (await (await fetch(`${baseUrl}/cases`)).json()) as string[];
for (const [index, text] of cases.entries()) {
  const body = JSON.parse(text) as components['schemas']['ExtremeInput'];
  const { data: made, error } = await client.POST('/api/extremes', { body });
  if (made === undefined) throw new Error(JSON.stringify(error));
  const { data } = await client.GET('/api/extremes/{pk}', { params: { path: { pk: made.id } } });
  await report(String(index), data);
}
const query = { page: 2_147_483_647, page_size: 2_147_483_647 };
await report('page', (await client.GET('/api/extremes', { params: { query } })).data);
