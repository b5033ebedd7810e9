import type { JSX } from 'preact';
import { ActionButtons, ActionPanel } from './action-panel.tsx';
import { type Api, collectionsBelow, hasPage, type Operation, type Resource } from './api-model.ts';
import { here } from './location.ts';
import { countOf, pageParameter } from './list-query.ts';
import { isForbidden, isOffered, isOfferedAfterLogin } from './permissions.ts';
import { isList } from './records.ts';
import { session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { useAnswer } from './use-answer.ts';

/** The lists and single records below a router's root, and the actions of views that have no page of their own. */
export function RootPage({ api, path }: { readonly api: Api; readonly path: string }): JSX.Element {
  const { fragment } = useStore(here);
  const below = api.resources.filter(
    (each) => hasPage(each) && each.path.startsWith(`${path}/`) && !each.path.includes('{'),
  );
  const actions = actionsAlone(api, path);
  const action = actions.find(({ id }) => id === fragment.get('action'));
  if (action !== undefined) {
    return (
      <>
        <div class="heading">
          <h1>{action.summary}</h1>
          <a class="button" href={path}>
            {texts.back}
          </a>
        </div>
        <ActionPanel key={action.id} api={api} action={action} path={path} />
      </>
    );
  }
  return (
    <>
      <h1>
        <bdi>{api.title}</bdi>
      </h1>
      {api.description !== undefined && <p class="lead">{api.description}</p>}
      {below.length === 0 && actions.length === 0 && <p>{texts.noContents}</p>}
      {below.length > 0 && <Contents api={api} below={below} />}
      {actions.length > 0 && (
        <section class="end">
          <h2>{texts.otherActions}</h2>
          <div class="buttons">
            <ActionButtons actions={actions} path={path} />
          </div>
        </section>
      )}
    </>
  );
}

/** The collections that each record of a collection has. */
function Nested({ names }: { readonly names: readonly string[] }): JSX.Element | null {
  return names.length === 0 ? null : <p>{texts.eachWith(names.map((name) => name.toLowerCase()))}</p>;
}

/** What views without a list offer, which no page of their own shows. The API decides when one is run. */
function actionsAlone({ resources, login }: Api, path: string): readonly Operation[] {
  return resources
    .filter(({ list }) => list === undefined)
    .flatMap((resource) => {
      const { create, collectionActions } = resource;
      return [...(create === undefined || hasPage(resource) ? [] : [create]), ...collectionActions];
    })
    .filter((action) => action !== login && action.path.startsWith(`${path}/`) && !action.path.includes('{'));
}

function Contents({ api, below }: { readonly api: Api; readonly below: readonly Resource[] }): JSX.Element {
  const person = useStore(session);
  return (
    <table class="plain-table collections">
      <thead>
        <tr>
          <th scope="col">{texts.contentName}</th>
          <th scope="col" class="number">
            {texts.records}
          </th>
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
              {isOfferedAfterLogin(resource.list ?? resource.retrieve, person) && <p>{texts.loginToGoOn}</p>}
              {isForbidden(resource.list ?? resource.retrieve, person) && <p>{texts.problemOf(403)}</p>}
            </td>
            <td class="number">
              <Count resource={resource} />
            </td>
            <td>
              <code>{resource.path}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The number of records of a collection, if its list can tell it. */
function Count({ resource: { list, path, isSingleton } }: { readonly resource: Resource }): JSX.Element | null {
  const person = useStore(session);
  const size = list && pageParameter(list, 'size')?.name;
  const isRead = size !== undefined && isOffered(list, person);
  const { answer } = useAnswer(isRead ? list : undefined, `${path}?${size}=1`, isList);
  const count = countOf(answer?.body);
  if (isSingleton) return <span class="hint">{texts.singleton}</span>;
  return count === undefined ? null : <>{count.toLocaleString()}</>;
}
