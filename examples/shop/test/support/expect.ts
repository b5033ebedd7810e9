import type { Answer, ErrorBody } from './http-client.ts';
import type { Test } from 'tap';

/** What no answer may let out: stacks, statements, drivers. */
const INTERNAL =
  /\bat .+:\d+|node_modules|node:internal|sqlite|postgres|mikro|kysely|\b(select|insert into|update) .+ (from|values|set)\b/i;

/** An error as the contract has it: this status and code, the one body shape, and these fields in its details. */
export function isError(
  t: Test,
  answer: Answer<unknown> | undefined,
  status: number,
  code: string,
  paths?: readonly string[],
  name = '',
): void {
  const label = `${name || 'answers'} ${status} ${code}`;
  if (answer === undefined) return void t.fail(`${label}: no answer`);
  const body = answer.body as ErrorBody;
  if (answer.status !== status || body?.code !== code)
    return void t.fail(`${label}; got ${answer.status} ${answer.text}`);
  const details = body.details ?? [];
  const problems = [
    !/^application\/json(; charset=utf-8)?$/.test(answer.headers.get('content-type') ?? '') && 'content type',
    (typeof body.error !== 'string' || body.error === '') && 'error is no sentence',
    Object.keys(body).some((key) => !['error', 'code', 'details'].includes(key)) && 'other properties',
    !details.every(isDetail) && 'details of another form',
    INTERNAL.test(answer.text) && 'internals',
    status === 401 && !/^Bearer\b/.test(answer.headers.get('www-authenticate') ?? '') && 'WWW-Authenticate',
    status === 405 && !answer.headers.has('allow') && 'Allow',
    status === 429 && !/^[1-9]\d*$/.test(answer.headers.get('retry-after') ?? '') && 'Retry-After',
  ].filter(Boolean);
  t.same(problems, [], label, { body: answer.text });
  if (paths !== undefined)
    t.same(details.map((detail) => detail.path).sort(), [...paths].sort(), `${label}: details`, { body: answer.text });
}

function isDetail(detail: { in: string; path: string; message: string }): boolean {
  const places = ['body', 'query', 'params'];
  return (
    places.includes(detail.in) &&
    typeof detail.path === 'string' &&
    typeof detail.message === 'string' &&
    detail.message !== ''
  );
}

/** 400 `invalid_usage` whose details name exactly these fields. */
export function isInvalid(t: Test, answer: Answer<unknown>, paths: readonly string[], name = ''): void {
  isError(t, answer, 400, 'invalid_usage', paths, name);
}

/** Neither a fault of the server nor silence, and if it is an error, one of the contract's form. */
export function isNoFault(t: Test, answer: Answer<unknown> | undefined, name: string): void {
  if (answer === undefined) return void t.fail(`${name}: no answer`);
  if (answer.status >= 500) return void t.fail(`${name}: ${answer.status} ${answer.text}`);
  if (answer.status >= 400) return isError(t, answer, answer.status, (answer.body as ErrorBody)?.code, undefined, name);
  t.pass(`${name}: ${answer.status}`);
}
