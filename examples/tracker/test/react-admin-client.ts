// react-admin-client.ts
import { fetchUtils, HttpError } from 'ra-core';

type Options = NonNullable<Parameters<typeof fetchUtils.fetchJson>[1]>;

/** Sends the requests of a data provider with a token, in the form that the API expects. */
export function httpClient(token: () => string | null) {
  return async (url: string, options: Options = {}) => {
    // The providers send what a form has changed, which is a PATCH.
    const method = options.method === 'PUT' ? 'PATCH' : (options.method ?? 'GET');
    const user = { authenticated: true, token: `Bearer ${token()}` };
    try {
      const response = await fetchUtils.fetchJson(url, { ...options, method, user });
      // DELETE has no body, but two of the providers read the id of the record.
      const id = decodeURIComponent(new URL(url).pathname.split('/').at(-1)!);
      return method === 'DELETE' ? { ...response, json: { id } } : response;
    } catch (error) {
      throw error instanceof HttpError ? withMessages(error) : error;
    }
  };
}

interface ErrorBody {
  readonly error?: string;
  readonly details?: readonly { readonly in: string; readonly path: string; readonly message: string }[];
}

/** Shows the message of the API, and the messages of fields beside their inputs. */
function withMessages(error: HttpError): HttpError {
  const { error: message = error.message, details = [] } = (error.body ?? {}) as ErrorBody;
  const fields = details.filter((detail) => detail.in === 'body');
  const errors = Object.fromEntries(fields.map((field) => [field.path.slice(1).replaceAll('/', '.'), field.message]));
  return new HttpError(message, error.status, { ...error.body, ...(fields.length > 0 && { errors }) });
}
