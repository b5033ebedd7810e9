/** Uses a tracker by the client that OpenAPI Generator makes of its document for TypeScript. */
import assert from 'node:assert/strict';
import {
  Configuration,
  ProjectsTicketsApi,
  ProjectsTicketsAttachmentsApi,
  ResponseError,
} from './typescript-fetch/index.ts';

const [basePath = '', accessToken = ''] = process.argv.slice(2);
const configuration = new Configuration({ basePath, accessToken });
const tickets = new ProjectsTicketsApi(configuration);
const project = 'lighthouse';

const made = await tickets.createProjectTicket({
  project,
  ticketInput: { title: 'By typescript-fetch', labels: ['bug'] },
});
assert.equal(made.title, 'By typescript-fetch');
const filter = JSON.stringify({
  and: [{ '==': [{ var: 'status' }, 'open'] }, { '==': [{ var: 'labels.name' }, 'bug'] }],
});
const query = { filter, search: 'typescript-fetch', sort: ['-priority', 'id'], expand: ['comments'] } as const;
const page = await tickets.listProjectTickets({ project, ...query, sort: [...query.sort], expand: [...query.expand] });
assert.equal(page.count, 1);
const title: string | undefined = page.results[0]?.title;
assert.equal(title, 'By typescript-fetch', 'a field that is required');
const several = await tickets.createProjectTickets({ project, ticketInput: [{ title: 'One' }, { title: 'Two' }] });
assert.deepEqual(
  several.map((each) => each.title),
  ['One', 'Two'],
);
await tickets.destroyProjectTickets({ project, pk: new Set(several.map(({ id }) => id)) });
assert.match(
  await tickets.exportProjectTicketsCsv({ project, sort: ['-id'] }),
  /^id,title.*\r\n\d+,By typescript-fetch/,
);
const attachments = new ProjectsTicketsAttachmentsApi(configuration);
const file = new File(['Read me'], 'readme.txt');
const attachment = await attachments.createProjectTicketAttachment({ project, ticket: 1, file });
assert.deepEqual([attachment.file.name, attachment.file.type, attachment.file.size], ['readme.txt', 'text/plain', 7]);
await assert.rejects(
  tickets.retrieveProjectTicket({ project, pk: 999_999 }),
  (error) => error instanceof ResponseError && error.response.status === 404,
);
