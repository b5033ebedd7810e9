/** A program for whatever platform: reads, walks, writes and fails, and prints what was received of it. Its argument is the server's address. */
import { ApiError, createClient } from '../../src/index.ts';
import type { Api } from './library-router.ts';

declare const Deno: { readonly args: readonly string[] };

const api = createClient<Api>({ url: `${Deno.args[0]}/api` });
const titles: string[] = [];
for await (const { title } of api.books.each({ pageSize: 2, sort: '-title' })) titles.push(title);
const made = await api.books.create({ title: 'Fir' });
const { pages } = await api.books.addPages.post(made.id, { pages: 7 });
await api.books.destroy(made.id);
const error: unknown = await api.books.retrieve(made.id).catch((thrown: unknown) => thrown);
const code = error instanceof ApiError ? error.code : 'none';
// oxlint-disable-next-line no-console -- what it prints is what the test looks at
console.log(JSON.stringify({ titles, title: made.title, pages, code }));
