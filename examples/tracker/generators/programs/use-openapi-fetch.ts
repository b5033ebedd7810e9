/** Uses a tracker by openapi-fetch, with the types that openapi-typescript makes of its document. */
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { paths } from './openapi.d.ts';

const [baseUrl = '', token = ''] = process.argv.slice(2);
const client = createClient<paths>({
  baseUrl,
  headers: { authorization: `Bearer ${token}` },
  // openapi-fetch does not read the document at run time: it needs to know that lists are separated by commas.
  querySerializer: { array: { style: 'form', explode: false } },
});
const ticket = { project: 'lighthouse', ticket: 1 };
const { project } = ticket;

const { data: made } = await client.POST('/api/projects/{project}/tickets', {
  params: { path: { project } },
  body: { title: 'By openapi-fetch', labels: ['bug'] },
});
assert.equal(made?.title, 'By openapi-fetch');
const filter = JSON.stringify({
  and: [{ '==': [{ var: 'status' }, 'open'] }, { '==': [{ var: 'labels.name' }, 'bug'] }],
});
const { data: page } = await client.GET('/api/projects/{project}/tickets', {
  params: {
    path: { project },
    query: { filter, search: 'openapi-fetch', sort: ['-priority', 'id'], expand: ['comments'] },
  },
});
assert.equal(page?.count, 1);
const title: string | undefined = page.results[0]?.title;
assert.equal(title, 'By openapi-fetch', 'a field that is required');
const { data: several } = await client.POST('/api/projects/{project}/tickets.bulk', {
  params: { path: { project } },
  body: [{ title: 'One' }, { title: 'Two' }],
});
assert.deepEqual(
  several?.map((each) => each.title),
  ['One', 'Two'],
);
const { response: gone } = await client.DELETE('/api/projects/{project}/tickets', {
  params: { path: { project }, query: { pk: several.map(({ id }) => id) } },
});
assert.equal(gone.status, 204);
const { data: csv } = await client.GET('/api/projects/{project}/tickets.csv', {
  params: { path: { project }, query: { sort: ['-id'] } },
  parseAs: 'text',
});
assert.match(csv ?? '', /^id,title.*\r\n\d+,By openapi-fetch/);
const { data: attachment } = await client.POST('/api/projects/{project}/tickets/{ticket}/attachments', {
  params: { path: ticket },
  // The type has the file as a text: https://github.com/openapi-ts/openapi-typescript/issues/1214.
  body: { file: new Blob(['Read me']) as unknown as string },
  bodySerializer: ({ file }) => {
    const form = new FormData();
    form.append('file', file as unknown as Blob, 'readme.txt');
    return form;
  },
});
const { file } = attachment ?? {};
assert.deepEqual([file?.name, file?.type, file?.size], ['readme.txt', 'text/plain', 7]);
const { error } = await client.GET('/api/projects/{project}/tickets/{pk}', {
  params: { path: { project, pk: 999_999 } },
});
assert.equal(error?.code, 'not_found');
