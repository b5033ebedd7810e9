import { readPage } from '../page.ts';
import type { Tool } from '../tool.ts';

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** Lists records. */
export const search: Tool = {
  name: 'search',
  description:
    'Lists records of a resource, a page at a time. "query" has filters, a search text, an order and the size of a page; describe names ' +
    'them. For the next page, call again with the "query" in "next".',
  annotations: READS,
  arguments: ['resource', 'parents', 'query'],
  required: ['resource'],
  serves: ({ operations }) => operations.has('search'),
  async run(call) {
    const plan = await call.operation('search');
    const returned = await call.send(plan, undefined);
    const page = readPage(plan, call.args.query ?? {}, returned);
    return page === undefined ? { answer: returned.value } : { ...page };
  },
};

/** Shows one record. */
export const get: Tool = {
  name: 'get',
  description: 'Returns one record, and its "etag" if the resource has them.',
  annotations: READS,
  arguments: ['resource', 'parents', 'id', 'query'],
  required: ['resource'],
  serves: ({ operations }) => operations.has('get'),
  async run(call) {
    const { value, etag } = await call.send(await call.operation('get'), undefined);
    return { record: value, ...(etag === undefined ? {} : { etag }) };
  },
};
