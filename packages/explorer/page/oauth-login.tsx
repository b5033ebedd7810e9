import type { JSX } from 'preact';
import type { Api } from './api-model.ts';
import { here, navigate } from './location.ts';
import { askForLogin } from './login-question.ts';
import { follow, type Parameter } from './openapi.ts';
import { texts } from '../src/texts.ts';
import { humanized } from './words.ts';

/** The links to logins by other services, which lead back to this page. */
export function OAuthLogins({ api }: { readonly api: Api }): JSX.Element | null {
  const { oauth } = api.account;
  const given = oauth && api.document.paths?.[oauth.path]?.['get']?.parameters;
  const parameters = (given ?? []).map((each) => follow<Parameter>(api.document, each));
  const providers = parameters.find(({ name }) => name === 'provider')?.schema?.enum ?? [];
  // Without a page to go back to, somebody would end at the bare answer.
  if (!parameters.some(({ name }) => name === 'return_to')) return null;
  const { pathname, query } = here.get();
  const back = `${pathname}${query.size === 0 ? '' : `?${query.toString()}`}`;
  return (
    <p class="login-links">
      {providers.map(String).map((name) => (
        <a key={name} href={`${oauth!.path.replace('{provider}', name)}?return_to=${encodeURIComponent(back)}`}>
          {texts.oauthLogin(SPELLINGS[name] ?? humanized(name))}
        </a>
      ))}
    </p>
  );
}

const SPELLINGS: Readonly<Record<string, string>> = { github: 'GitHub', gitlab: 'GitLab' };

const HALF = 'two_factor_token';

/** The token of a login by another service that wants a second step, which the address of this page has; undefined without one. */
export function halfLogin(): string | undefined {
  return here.get().fragment.get(HALF) ?? undefined;
}

/** Asks for the second step of a login by another service, if the address of this page says so. */
export function continueHalfLogin(): void {
  if (halfLogin() !== undefined) askForLogin();
}

/** Takes the token of half a login out of the address: it is good once. */
export function forgetHalfLogin(): void {
  if (halfLogin() !== undefined) navigate(location.pathname + location.search, { replace: true });
}
