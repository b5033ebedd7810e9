/** Uses a tracker by the functions that Orval makes of its document, with the platform's `fetch`. */
import assert from 'node:assert/strict';
import * as api from './orval.ts';

const [, token = ''] = process.argv.slice(2);
const options = { headers: { authorization: `Bearer ${token}` } };
const project = 'lighthouse';

const made = await api.createProjectTicket(project, { title: 'By Orval', labels: ['bug'] }, undefined, options);
assert(made.status === 201);
assert.equal(made.data.title, 'By Orval');
const filter = JSON.stringify({
  and: [{ '==': [{ var: 'status' }, 'open'] }, { '==': [{ var: 'labels.name' }, 'bug'] }],
});
const query = {
  filter,
  search: 'orval',
  sort: ['-priority', 'id'],
  expand: ['comments'],
} satisfies api.ListProjectTicketsParams;
const page = await api.listProjectTickets(project, query, options);
assert(page.status === 200, JSON.stringify(page.data));
assert.equal(page.data.count, 1);
const title: string | undefined = page.data.results[0]?.title;
assert.equal(title, 'By Orval', 'a field that is required');
const several = await api.createProjectTickets(project, [{ title: 'One' }, { title: 'Two' }], undefined, options);
assert(several.status === 201);
assert.deepEqual(
  several.data.map((each) => each.title),
  ['One', 'Two'],
);
const gone = await api.destroyProjectTickets(project, { pk: several.data.map(({ id }) => id) }, options);
assert.equal(gone.status, 204);
const csv = await api.exportProjectTicketsCsv(project, { sort: ['-id'] }, options);
assert(csv.status === 200);
assert.match(csv.data, /^id,title.*\r\n\d+,By Orval/);
const attachment = await api.createProjectTicketAttachment(
  project,
  1,
  { file: new File(['Read me'], 'readme.txt') },
  options,
);
assert(attachment.status === 201, JSON.stringify(attachment.data));
assert.deepEqual(
  [attachment.data.file.name, attachment.data.file.type, attachment.data.file.size],
  ['readme.txt', 'text/plain', 7],
);
const absent = await api.retrieveProjectTicket(project, 999_999, undefined, options);
assert(absent.status === 404);
assert.equal(absent.data.code, 'not_found');
