/** Matches the paths of a template of the document: each parameter is one step. */
export function templatePattern(template: string): RegExp {
  const escaped = template.split(/\{[^{}]+\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${escaped.join('[^/]+')}$`);
}
