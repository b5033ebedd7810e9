/**
 * Reads the header `Retry-After`: seconds or a date (RFC 9110, 10.2.3). Returns milliseconds since 1970; 0 if the header
 * is missing or malformed.
 */
export function retryAfterMs(header: string | undefined): number {
  if (header === undefined) return 0;
  if (/^\d{1,10}$/.test(header)) return Date.now() + Number(header) * 1000;
  // `Date.parse` also accepts texts such as "-5".
  const time = /^[A-Z][a-z]+,? /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(time) ? 0 : time;
}
