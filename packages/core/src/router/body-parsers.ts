import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ImproperlyConfigured, ParseError, UnsupportedMediaType } from '../errors/errors.ts';
import { noteDecoding, unreadable } from '../routes/reading-error.ts';
import { readsBody, sendsContent } from '../http/methods.ts';
import { FORM_TYPE } from '../routes/declared-routes.ts';
import { acceptForms } from '../routes/form-body.ts';
import { markRounded } from '../support/rounded-numbers.ts';
import { parseStrictJson, StrictJsonError } from '../support/strict-json.ts';

/**
 * Makes the routes of one Fastify scope accept only JSON, in UTF-8 (RFC 8259). Bodies of other media types give 415. A
 * request without a body may name any type, because some clients name one in every DELETE. `__proto__` and `constructor.prototype` are dropped, except from a QUERY, which is read as strictly as a filter in the query
 * string. A body may be missing if the route does not require one.
 */
export function readJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addHook('onRoute', (route) => {
    // After the hooks of the application, which may decompress.
    if (readsBody(route)) route.preParsing = [route.preParsing ?? [], noteDecoding].flat();
  });
  app.addContentTypeParser('*', (request, _payload, done) => {
    if (sendsContent(request)) done(new UnsupportedMediaType());
    else done(null, undefined);
  });
  const parse = app.getDefaultJsonParser('remove', 'remove');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer;
    if (bytes.length === 0) return done(null, undefined);
    const text = bytes.toString('utf8');
    // Bytes that are not UTF-8 become this character. It may also have been sent.
    if (text.includes('\ufffd') && !isUtf8(bytes)) {
      return done(unreadable(new ParseError('The request body is not valid UTF-8'), request));
    }
    if (request.method === 'QUERY') return parseQuery(text, request, done);
    // Only bodies with a schema are marked. An action without a declared body gets the result of JSON.parse.
    const hasSchema = request.routeOptions.schema?.body !== undefined;
    return parse(request, text, (error, document) => {
      if (error === null) done(null, hasSchema ? markRounded(text, document) : document);
      else done(unreadable(error, request));
    });
  });
}

function parseQuery(text: string, request: FastifyRequest, done: (error: Error | null, body?: unknown) => void): void {
  let query: unknown;
  try {
    query = parseStrictJson(text);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    const refusal = new ParseError(`The request body ${error.message}`);
    return done(error.isJson ? refusal : unreadable(refusal, request));
  }
  done(null, query);
}

/** Makes a scope read more media types, as Buffers. Returns true if there are any besides JSON. */
export function readOtherTypes(app: FastifyInstance, types: ReadonlySet<string>): boolean {
  const others = [...types].filter((type) => type !== 'application/json');
  if (others.length === 0) return false;
  app.addContentTypeParser(others, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  return true;
}

/** The properties that `@fastify/multipart` adds to requests. */
const MULTIPART_PROPERTIES = [
  'isMultipart',
  'tmpUploads',
  'savedRequestFiles',
  'parts',
  'file',
  'files',
  'saveRequestFiles',
  'cleanRequestFiles',
];

/**
 * Makes a scope read forms with files, whose parts `request.parts()` returns. If the application has registered
 * `@fastify/multipart` in an outer scope, this scope uses it, with its options.
 *
 * @throws ImproperlyConfigured if the required packages are not installed, or if something else has added a property to
 *   requests that the plugin adds
 */
export async function readForms(app: FastifyInstance): Promise<void> {
  const [{ default: multipart }] = await Promise.all([import('@fastify/multipart'), import('file-type')]).catch(
    (cause: unknown) => {
      throw new ImproperlyConfigured('file() needs the packages @fastify/multipart and file-type', { cause });
    },
  );
  // An action of the same router may read forms as bytes.
  app.removeContentTypeParser(FORM_TYPE);
  if (!app.hasPlugin('@fastify/multipart')) {
    // The plugin would throw where nobody can catch it, and end the process.
    const taken = MULTIPART_PROPERTIES.find((name) => app.hasRequestDecorator(name));
    if (taken !== undefined) {
      throw new ImproperlyConfigured(
        `file() needs @fastify/multipart, which adds request.${taken}, but requests have it already; rename yours, or register @fastify/multipart before the router`,
      );
    }
    await app.register(multipart);
  }
  acceptForms(app);
}
