/** One part of a form, as it was sent: a text, or a file by the name that it has where it was chosen. */
export type FormPart =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly fileName: string };

/** A request, as far as a command has to repeat it. */
export interface SentRequest {
  readonly method: string;
  /** The path with the query string. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** The parts of a form in the place of a body. */
  readonly form: readonly FormPart[] | undefined;
}

/**
 * Writes a request as a command for a POSIX shell. The token comes from a variable of the shell, and no password stands in it.
 *
 * Data stays data: curl reads a file for `-F name=@path`, `-F 'name=<path'` and `-d @path`, so texts go by `--form-string` and `--data-raw`,
 * and nothing in a URL is a pattern (`--globoff`). Only a file that was chosen in the form is read again, by its name.
 */
export function curlOf({ method, url, headers, body, form }: SentRequest, origin: string): string {
  const globs = /[[\]{}]/.test(url) ? '--globoff ' : '';
  const parts = [`curl ${globs}${method === 'GET' ? '' : `-X ${method} `}${quoted(origin + url)}`];
  for (const [name, value] of Object.entries(headers)) {
    parts.push(name === 'authorization' ? `-H "authorization: Bearer $TOKEN"` : `-H ${quoted(`${name}: ${value}`)}`);
  }
  for (const part of form ?? []) parts.push(formOption(part));
  if (body !== undefined) parts.push(`--data-raw ${quoted(covered(body))}`);
  return parts.join(' \\\n  ');
}

function formOption(part: FormPart): string {
  if ('text' in part) return `--form-string ${quoted(`${part.name}=${String(cover(part.name, part.text))}`)}`;
  // Within double quotes curl takes every character of a file name but these two as it is.
  const fileName = part.fileName.replaceAll(/["\\]/g, String.raw`\$&`);
  return `-F ${quoted(`${part.name}=@"${fileName}"`)}`;
}

/**
 * Between single quotes a shell takes every character as it is, but a single quote itself. A terminal takes control characters that are pasted for
 * its own: the end of a paste is one, and what follows it would be run. The shell makes them when the command runs.
 */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`).replaceAll(CONTROL, printed)}'`;
}

/** All but tabs and the ends of lines. */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

function printed(character: string): string {
  const bytes = [...new TextEncoder().encode(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`);
  return `'"$(printf '${bytes.join('')}')"'`;
}

const SECRET = /password|token|secret/i;

function cover(name: string, value: unknown): unknown {
  return typeof value === 'string' && SECRET.test(name) ? '…' : value;
}

/** What the answers about accounts have under these names is shown once, where it is to be copied. */
const SHOWN_ONCE = /^(?:key|uri|recovery_codes)$/;

/** Covers in the answer of an operation of accounts what is shown once. */
export function coveredOnce(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text, (name, value: unknown) => (SHOWN_ONCE.test(name) ? '…' : value)));
  } catch {
    return text;
  }
}

/** Covers the passwords and tokens in a JSON text. Any other text stays as it is. */
export function covered(text: string): string {
  try {
    return SECRET.test(text) ? JSON.stringify(JSON.parse(text, cover)) : text;
  } catch {
    return text;
  }
}
