/** A parameter of a path template, `:pk`. */
const PARAMETER = /:(\w+)/g;

/** Removes the expressions in parentheses from a Fastify path: `/books/:pk(^\\d+$)` becomes `/books/:pk`. */
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

/**
 * Removes the names of parameters: `/a/:x` and `/a/:y` are one path, and a record is `pk` in its own URL, but `author`
 * in the URLs below it.
 */
export function unnamed(template: string): string {
  return template.replaceAll(PARAMETER, ':');
}

/** Makes the function that replaces a template's parameters with percent-encoded values. */
export function templateFiller(template: string): (valueOf: (parameter: string) => unknown) => string {
  // Every second piece is the name of a parameter.
  const [start = '', ...pieces] = template.split(PARAMETER);
  return (valueOf) => {
    let filled = start;
    for (const [index, piece] of pieces.entries()) {
      filled += index % 2 === 0 ? encodeURIComponent(String(valueOf(piece))) : piece;
    }
    return filled;
  };
}
