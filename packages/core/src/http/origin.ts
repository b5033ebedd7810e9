/**
 * True for an origin in the form that browsers send: a scheme, a host and perhaps a port, in lower case. A path, a default
 * port and `null` are none. Use it to check options that list origins.
 *
 * @example
 * isOrigin('https://app.example.com'); // true
 * isOrigin('https://app.example.com/'); // false
 */
export function isOrigin(value: unknown): value is string {
  return typeof value === 'string' && URL.canParse(value) && new URL(value).origin === value;
}
