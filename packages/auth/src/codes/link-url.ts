import { wrongOption } from '@viewset/core';

const PLACE = '{token}';
const EXAMPLE = 'https://shop.example.com/login#token={token}';

/**
 * Checks the URL of a page that a mailed link opens, and returns the function that makes the link of a token.
 *
 * @param owner the option that has the URL, for the message
 * @throws ImproperlyConfigured unless the URL is absolute, of HTTP, and has `{token}` once, behind the host
 */
export function linkMaker(owner: string, url: unknown): (token: string) => string {
  const [before = '', ...rest] = typeof url === 'string' ? url.split(PLACE) : [];
  // A token in the name of the host would be sent to whom the name belongs.
  const hasHost = URL.canParse(before) && /^https?:\/\/[^/?#]+[/?#]/.test(before);
  if (rest.length !== 1 || !hasHost || /\s/.test(url as string)) {
    throw wrongOption(owner, 'url', `the URL of a page with {token}, such as "${EXAMPLE}"`, url);
  }
  return (token) => `${before}${token}${rest[0]}`;
}
