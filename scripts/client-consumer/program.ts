/** A program that has the client and a declaration file alone: no server, no ORM, no types of Node. */
import { createClient } from '@viewset/client';
import type { api } from './api.d.ts';

const sent: string[] = [];
const client = createClient<typeof api>({
  url: 'https://notes.example/api',
  fetch: async (url, { method }) => {
    sent.push(`${method} ${url}`);
    return Response.json({ count: 1, next: false, previous: false, results: [{ id: 1, title: 'Lire', pinned: true }] });
  },
});
const { results, count } = await client.notes.list({
  pinned: true,
  sort: '-title',
  filter: { '==': [{ var: 'pinned' }, true] },
});
const titles: string[] = results.map(({ title }) => title.toUpperCase());
for await (const { id } of client.notes.each({ pageSize: 5 })) titles.push((id + count).toFixed(0));
await client.notes.destroyMany([1, 2]);
// @ts-expect-error unknown parameter
await client.notes.list({ pined: true });
// @ts-expect-error unknown field
await client.notes.create({ name: 'x' });
// @ts-expect-error unknown action
void client.notes.totals;
const said = [...titles, ...sent].join('\n');
const expected = `LIRE
2
GET https://notes.example/api/notes?pinned=true&sort=-title&filter=%7B%22%3D%3D%22%3A%5B%7B%22var%22%3A%22pinned%22%7D%2Ctrue%5D%7D
GET https://notes.example/api/notes?page_size=5
DELETE https://notes.example/api/notes?pk=1,2
GET https://notes.example/api/notes?pined=true
POST https://notes.example/api/notes`;
if (said !== expected) throw new Error(`It said ${said}`);
