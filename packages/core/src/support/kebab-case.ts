/** `mostPopular` → `most-popular`, `HTMLPage` → `html-page`, `top_ten` → `top-ten`. */
export function kebabCase(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .replaceAll(/_+/g, '-')
    .toLowerCase();
}
