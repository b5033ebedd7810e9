import type { Test } from 'tap';
import type { Answer, ErrorBody } from './http-client.ts';

/** The contract's table of errors. */
const STATUSES = {
  parse_error: 400,
  invalid_usage: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  too_many_requests: 429,
  headers_too_large: 431,
  service_unavailable: 503,
};
export type ErrorCode = keyof typeof STATUSES;

/** Texts that no response may contain: stacks, statements, drivers. */
const INTERNAL =
  /\bat .+:\d+|node_modules|node:internal|sqlite|postgres|mikro|kysely|\b(select|insert into|update) .+ (from|values|set)\b/i;

/** An error as the contract has it: the status of its code, the one body shape, the headers that go with it. */
export function isError(t: Test, answer: Answer<unknown> | undefined, code: ErrorCode, name = 'answers'): void {
  const label = `${name}: ${STATUSES[code]} ${code}`;
  if (answer === undefined) return void t.fail(`${label}; got no answer`);
  const body = answer.body as ErrorBody | undefined;
  if (answer.status !== STATUSES[code] || body?.code !== code) {
    return void t.fail(`${label}; got ${answer.status} ${answer.text}`);
  }
  t.same(problemsOf(answer as Answer), [], label, { body: answer.text });
}

/** 400 `invalid_usage` whose details name exactly these fields. */
export function isInvalid(t: Test, answer: Answer<unknown>, paths: readonly string[], name = 'answers'): void {
  isError(t, answer, 'invalid_usage', name);
  const details = (answer.body as ErrorBody | undefined)?.details ?? [];
  const named = details.map(({ path }) => path).toSorted();
  t.same([...new Set(named)], paths.toSorted(), `${name}: details name each field`, { body: answer.text });
}

/** Neither an internal error nor a missing response; an error has the documented form. */
export function isNoFault(t: Test, answer: Answer<unknown> | undefined, name: string): void {
  if (answer !== undefined && answer.status < 400) return void t.pass(`${name}: ${answer.status}`);
  isError(t, answer, ((answer?.body as ErrorBody | undefined)?.code ?? 'parse_error') as ErrorCode, name);
  if (answer !== undefined && answer.status >= 500) t.fail(`${name}: a fault of the server`);
}

function problemsOf({ status, headers, body, text }: Answer): string[] {
  const wrong = {
    'the content type': !/^application\/json(; charset=utf-8)?$/.test(headers.get('content-type') ?? ''),
    'error is no sentence': typeof body.error !== 'string' || body.error === '',
    'other properties': Object.keys(body).some((key) => !['error', 'code', 'details'].includes(key)),
    'details of another form': body.details?.every(isDetail) === false,
    internals: INTERNAL.test(text),
    'WWW-Authenticate': status === 401 && !/^Bearer\b/.test(headers.get('www-authenticate') ?? ''),
    Allow: status === 405 && !headers.has('allow'),
    'Retry-After': status === 429 && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? ''),
  };
  return Object.entries(wrong).flatMap(([problem, isThere]) => (isThere ? [problem] : []));
}

function isDetail(detail: { in: string; path: string; message: string }): boolean {
  return ['body', 'query', 'params'].includes(detail.in) && typeof detail.path === 'string' && Boolean(detail.message);
}
