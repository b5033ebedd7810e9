/** A parameter of a path template, `:pk`. */
const PARAMETER = /:(\w+)/g;

/** Strips the expressions in parentheses of a path that Fastify matches: `/books/:pk(^\\d+$)` is `/books/:pk`. */
export function templateOf(pattern: string): string {
  let depth = 0;
  let template = '';
  for (const character of pattern) {
    if (character === '(') depth++;
    if (depth === 0) template += character;
    if (character === ')') depth--;
  }
  return template;
}

/** The names of a template's parameters, from left to right. */
export function templateParameters(template: string): string[] {
  return [...template.matchAll(PARAMETER)].map((match) => match[1]!);
}

/** Puts values, percent-encoded, in the place of a template's parameters. */
export function fillTemplate(template: string, valueOf: (parameter: string) => unknown): string {
  return template.replaceAll(PARAMETER, (_match, parameter: string) => encodeURIComponent(String(valueOf(parameter))));
}
