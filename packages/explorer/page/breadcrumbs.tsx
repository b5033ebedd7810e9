import type { JSX } from 'preact';
import { type Api, type Place, placeOf } from './api-model.ts';

/** The way to a place: the collections and the records above it. */
export function Breadcrumbs({ api, path }: { readonly api: Api; readonly path: string }): JSX.Element | null {
  const steps = path.split('/');
  const above = steps
    .map((_step, index) => steps.slice(0, index).join('/'))
    .map((each) => placeOf(api, each))
    .filter(({ kind }) => kind === 'collection' || kind === 'record');
  if (above.length === 0) return null;
  return (
    <p class="crumbs">
      {above.map((place) => (
        <span key={place.path}>
          <a href={place.path}>
            <bdi>{labelOf(place)}</bdi>
          </a>
          <span aria-hidden="true"> / </span>
        </span>
      ))}
      <bdi>{labelOf(placeOf(api, path))}</bdi>
    </p>
  );
}

/** The name of a collection; the key of a record. */
function labelOf(place: Place): string {
  if (place.kind === 'collection') return place.resource.name;
  const step = place.path.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
