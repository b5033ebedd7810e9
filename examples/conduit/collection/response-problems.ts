import { Compile } from 'typebox/compile';

interface Answer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly body: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Lists the parts of a response that an OpenAPI document does not allow. */
export function responseProblems(document: object, { method, path, status, body }: Answer): readonly string[] {
  const paths = (document as { paths: Readonly<Record<string, Json>> }).paths;
  const template = templateOf(Object.keys(paths), path);
  if (template === undefined) return [`the document has no path for ${path}`];
  const operation = paths[template]![method.toLowerCase()] as
    | { responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: object }>> }>> }
    | undefined;
  if (operation === undefined) return [`the document has no ${method} ${template}`];
  const response = resolved(document, operation.responses[String(status)]) as (typeof operation.responses)[string];
  if (response === undefined) return [`the document has no ${status} of ${method} ${template}`];
  const schema = response.content?.['application/json']?.schema;
  if (schema === undefined) return body === '' ? [] : [`${method} ${template} declares no body`];
  const { components } = document as { components: object };
  const validator = Compile({ ...rooted(schema), $defs: rooted((components as { schemas: object }).schemas) } as never);
  return validator.Errors(JSON.parse(body)).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** Finds the template of a path. One without parameters comes first. */
function templateOf(templates: readonly string[], path: string): string | undefined {
  return templates.find((each) => each === path) ?? templates.find((each) => matches(each, path));
}

function matches(template: string, path: string): boolean {
  const [wanted, given] = [template.split('/'), path.split('/')];
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith('{') || part === given[index]);
}

/** Follows a reference of the document. */
function resolved(document: object, value: unknown): unknown {
  const { $ref } = (value ?? {}) as { $ref?: string };
  if ($ref === undefined) return value;
  return $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, key) => (at as Json)[key], document);
}

/** Makes references into the document lead into `$defs`. */
function rooted(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')) as object;
}
