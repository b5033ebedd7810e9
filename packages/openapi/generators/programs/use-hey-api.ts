/** Sends the cases by the client that Hey API makes, and reports what it reads. */
import { client } from './hey/client.gen.ts';
import * as api from './hey/sdk.gen.ts';
import type { ExtremeInput } from './hey/types.gen.ts';

const [baseUrl = ''] = process.argv.slice(2);
client.setConfig({ baseUrl });
const report = (name: string, read: unknown) =>
  fetch(`${baseUrl}/seen/hey-api/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: JSON.stringify(read),
  });

const cases = (await (await fetch(`${baseUrl}/cases`)).json()) as string[];
for (const [index, text] of cases.entries()) {
  const body = JSON.parse(text) as ExtremeInput;
  const { data: made } = await api.createExtreme({ body, throwOnError: true });
  const { data } = await api.retrieveExtreme({ path: { pk: made.id }, throwOnError: true });
  await report(String(index), data);
}
const query = { page: 2_147_483_647, page_size: 2_147_483_647 };
await report('page', (await api.listExtremes({ query, throwOnError: true })).data);
