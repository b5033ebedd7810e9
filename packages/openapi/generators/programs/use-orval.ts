/** Sends the cases by the functions that Orval makes, and reports what they read. */
import * as api from './orval.ts';

const [baseUrl = ''] = process.argv.slice(2);
const report = (name: string, read: unknown) =>
  fetch(`${baseUrl}/seen/orval/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: JSON.stringify(read),
  });

const cases = (await (await fetch(`${baseUrl}/cases`)).json()) as string[];
for (const [index, text] of cases.entries()) {
  const made = await api.createExtreme(JSON.parse(text) as api.ExtremeInput);
  if (made.status !== 201) throw new Error(JSON.stringify(made.data));
  await report(String(index), (await api.retrieveExtreme(made.data.id)).data);
}
await report('page', (await api.listExtremes({ page: 2_147_483_647, page_size: 2_147_483_647 })).data);
