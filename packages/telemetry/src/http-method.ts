import type { Attributes } from '@opentelemetry/api';

/** The methods of RFC 9110, PATCH (RFC 5789) and QUERY, which the semantic conventions of HTTP take for known. */
const KNOWN = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'];

/** The known methods: those of the conventions, or those of the variable that replaces them, separated by commas. */
function knownMethods(): ReadonlySet<string> {
  const given = process.env['OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS'];
  return new Set(given === undefined || given === '' ? KNOWN : given.split(',').map((name) => name.trim()));
}

const known = knownMethods();

/** Returns the method of a request for the name of a span: `HTTP` if it is not known. */
export function methodForName(method: string): string {
  return known.has(method) ? method : 'HTTP';
}

/** Returns the attribute of a method. Clients may send any that Node parses, so an unknown one is `_OTHER`. */
export function methodAttribute(method: string): Attributes {
  return { 'http.request.method': known.has(method) ? method : '_OTHER' };
}

/** Returns the attribute of an unknown method as it was sent, for spans only: a metric would have a series for each. */
export function originalMethod(method: string): Attributes {
  return known.has(method) ? {} : { 'http.request.method_original': method };
}
