import type { JSX } from 'preact';
import { type Api, collectionsBelow } from './api-model.ts';
import { isForbidden, isOfferedAfterLogin } from './permissions.ts';
import { session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';

/** The collections below a router's root. */
export function RootPage({ api, path }: { readonly api: Api; readonly path: string }): JSX.Element {
  const person = useStore(session);
  const below = api.resources.filter(
    (each) => each.list !== undefined && each.path.startsWith(`${path}/`) && !each.path.includes('{'),
  );
  return (
    <>
      <h1>
        <bdi>{api.title}</bdi>
      </h1>
      {api.description !== undefined && <p class="lead">{api.description}</p>}
      {below.length === 0 && <p>{texts.noCollections}</p>}
      {below.length > 0 && (
        <table class="plain-table collections">
          <thead>
            <tr>
              <th scope="col">{texts.collection}</th>
              <th scope="col">{texts.path}</th>
            </tr>
          </thead>
          <tbody>
            {below.map((resource) => (
              <tr key={resource.path}>
                <td>
                  <a href={resource.path}>{resource.name}</a>
                  {resource.description !== undefined && <p>{resource.description}</p>}
                  <Nested names={collectionsBelow(api, resource).map(({ name }) => name)} />
                  {isOfferedAfterLogin(resource.list, person) && <p>{texts.loginToGoOn}</p>}
                  {isForbidden(resource.list, person) && <p>{texts.problemOf(403)}</p>}
                </td>
                <td>
                  <code>{resource.path}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

/** The collections that each record of a collection has. */
function Nested({ names }: { readonly names: readonly string[] }): JSX.Element | null {
  return names.length === 0 ? null : <p>{texts.eachWith(names.map((name) => name.toLowerCase()))}</p>;
}
