import { DEFAULT_ADMIN_PASSWORD, type Settings } from './settings.ts';

/** The pages to look at, and three requests to try by hand, the login of the seeded administrator first. */
export function examples(address: string, { adminEmail, adminPassword, explorer }: Settings): string {
  const url = address.replace('//127.0.0.1:', '//localhost:');
  const password = adminPassword === DEFAULT_ADMIN_PASSWORD ? adminPassword : '<ADMIN_PASSWORD>';
  const credentials = JSON.stringify({ email: adminEmail, password });
  return `
The shop is listening on ${url}.
${explorer ? `  ${url}/api    the explorer: look at it in a browser, and log in as ${adminEmail} with ${password}\n` : ''}\
  ${url}/docs   the reference

Try:
  TOKEN=$(curl -s ${url}/api/auth/login -H 'content-type: application/json' -d '${credentials}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl '${url}/api/products?search=oak&max_price=100&sort=-price'
  curl ${url}/api/roles -H "authorization: Bearer $TOKEN"

`;
}
