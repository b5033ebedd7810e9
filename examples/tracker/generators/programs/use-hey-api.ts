/** Uses a tracker by the client that Hey API makes of its document. */
import assert from 'node:assert/strict';
import { client } from './hey/client.gen.ts';
import * as api from './hey/sdk.gen.ts';

const [baseUrl = '', token = ''] = process.argv.slice(2);
client.setConfig({ baseUrl, auth: token });
const path = { project: 'lighthouse' };

const { data: made } = await api.createProjectTicket({
  path,
  body: { title: 'By Hey API', labels: ['bug'] },
  throwOnError: true,
});
assert.equal(made.title, 'By Hey API');
const filter = JSON.stringify({
  and: [{ '==': [{ var: 'status' }, 'open'] }, { '==': [{ var: 'labels.name' }, 'bug'] }],
});
const { data: page } = await api.listProjectTickets({
  path,
  query: { filter, search: '"Hey API"', sort: ['-priority', 'id'], expand: ['comments'] },
  throwOnError: true,
});
assert.equal(page.count, 1);
const title: string | undefined = page.results[0]?.title;
assert.equal(title, 'By Hey API', 'a field that is required');
const body = [{ title: 'One' }, { title: 'Two' }];
const { data: several } = await api.createProjectTickets({ path, body, throwOnError: true });
assert.deepEqual(
  several.map((each) => each.title),
  ['One', 'Two'],
);
const gone = await api.destroyProjectTickets({ path, query: { pk: several.map(({ id }) => id) } });
assert.equal(gone.response?.status, 204);
const { data: csv } = await api.exportProjectTicketsCsv({ path, query: { sort: ['-id'] }, throwOnError: true });
assert.match(csv, /^id,title.*\r\n\d+,By Hey API/);
const { data: attachment } = await api.createProjectTicketAttachment({
  path: { ...path, ticket: 1 },
  body: { file: new File(['Read me'], 'readme.txt') },
  throwOnError: true,
});
assert.deepEqual([attachment.file.name, attachment.file.type, attachment.file.size], ['readme.txt', 'text/plain', 7]);
const { error } = await api.retrieveProjectTicket({ path: { ...path, pk: 999_999 } });
assert.equal(error?.code, 'not_found');
