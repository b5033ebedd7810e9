import type { Answer, TestApp } from './app.ts';
import { PASSWORD } from './app.ts';

export interface SetCookie {
  readonly name: string;
  readonly value: string;
  /** As they were written, sorted; `Max-Age` is left out. */
  readonly attributes: readonly string[];
  readonly maxAge: number;
}

export function cookiesOf({ headers }: Pick<Answer, 'headers'>): SetCookie[] {
  return headers.getSetCookie().map((text) => {
    const [pair = '', ...attributes] = text.split('; ');
    const [name = '', value = ''] = pair.split('=');
    const maxAge = Number(attributes.find((each) => each.startsWith('Max-Age='))?.slice('Max-Age='.length));
    return { name, value, attributes: attributes.filter((each) => !each.startsWith('Max-Age=')).toSorted(), maxAge };
  });
}

/** Keeps cookies and a token, and sends them as a browser on a page of the server does. */
export class Browser {
  readonly #app: TestApp;
  readonly cookies = new Map<string, string>();
  token = '';

  constructor(app: TestApp) {
    this.#app = app;
  }

  async send(method: string, path: string, json?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await this.#app.request(method, path, {
      ...(json === undefined ? {} : { json }),
      headers: {
        ...(cookie === '' ? {} : { cookie }),
        ...(this.token === '' ? {} : { authorization: `Bearer ${this.token}` }),
        'sec-fetch-site': 'same-origin',
        ...headers,
      },
    });
    for (const { name, value, maxAge } of cookiesOf(answer)) {
      if (maxAge > 0) this.cookies.set(name, value);
      else this.cookies.delete(name);
    }
    const { access_token: token } = answer.body as { access_token?: string };
    if (token !== undefined) this.token = token;
    return answer;
  }

  login(email: string, password: string = PASSWORD): Promise<Answer> {
    return this.send('POST', '/auth/login', { email, password });
  }

  refresh(): Promise<Answer> {
    return this.send('POST', '/auth/refresh');
  }

  /** True if the token is good. */
  async isLoggedIn(): Promise<boolean> {
    return (await this.send('GET', '/me')).status === 200;
  }
}
