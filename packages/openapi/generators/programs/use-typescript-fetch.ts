/** Sends the cases by the client that OpenAPI Generator makes for TypeScript, and reports what it reads. */
import { Configuration, ExtremeInputFromJSON, ExtremesApi, ExtremeToJSON } from './typescript-fetch/index.ts';

const [basePath = ''] = process.argv.slice(2);
const extremes = new ExtremesApi(new Configuration({ basePath }));
const report = (name: string, read: unknown) =>
  fetch(`${basePath}/seen/typescript-fetch/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: JSON.stringify(read),
  });

const cases = (await (await fetch(`${basePath}/cases`)).json()) as string[];
for (const [index, text] of cases.entries()) {
  const made = await extremes.createExtreme({ extremeInput: ExtremeInputFromJSON(JSON.parse(text)) });
  await report(String(index), ExtremeToJSON(await extremes.retrieveExtreme({ pk: made.id })));
}
await report('page', await extremes.listExtremes({ page: 2_147_483_647, pageSize: 2_147_483_647 }));
