import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { AccountMenu } from './account-menu.tsx';
import { AccountPage } from './account-page.tsx';
import { accountPlaceOf, type Api, type Place, placeOf, readApi } from './api-model.ts';
import { CollectionPage } from './collection-page.tsx';
import { titleOfList } from './list-query.ts';
import { here, navigate } from './location.ts';
import { LoginDialog } from './login-dialog.tsx';
import { takeUpLogin } from './logins.ts';
import { NoticeLine } from './notice.tsx';
import type { ApiDocument } from './openapi.ts';
import { Palette } from './palette.tsx';
import { shapedFor } from './permissions.ts';
import { isRow } from './records.ts';
import { RecordPage } from './record-page.tsx';
import { RequestLog } from './request-log.tsx';
import { RootPage } from './root-page.tsx';
import { session } from './session.ts';
import { Sidebar } from './sidebar.tsx';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { usePermitted } from './use-permitted.ts';

/** The whole page. */
export function App({ documentUrl }: { readonly documentUrl: string }): JSX.Element {
  const [api, setApi] = useState<Api | 'waiting' | 'failed'>('waiting');
  const load = (): void => {
    setApi('waiting');
    readDocument(documentUrl)
      .then(async (document) => {
        const read = readApi(document);
        await takeUpLogin(read);
        setApi(read);
      })
      // Neither can what is no such document be read.
      .catch(() => setApi('failed'));
  };
  useEffect(load, [documentUrl]);
  if (api === 'waiting') {
    return (
      <>
        <header class="top">
          <span class="brand">{document.title}</span>
        </header>
        <p class="first-wait">{texts.loading}</p>
      </>
    );
  }
  if (api === 'failed') {
    return (
      <main class="alone">
        <h1>{texts.documentMissing}</h1>
        <p>{texts.documentMissingHint}</p>
        <p>
          <code>{documentUrl}</code>
        </p>
        <button type="button" onClick={load}>
          {texts.retry}
        </button>
      </main>
    );
  }
  return <Frame api={api} />;
}

async function readDocument(url: string): Promise<ApiDocument> {
  const response = await fetch(url, { cache: 'no-cache', credentials: 'omit' });
  if (!response.ok) throw new Error(String(response.status));
  const document: unknown = await response.json();
  if (!isRow(document) || !isRow(document['paths'])) throw new Error('This is no OpenAPI document');
  return document;
}

function Frame({ api }: { readonly api: Api }): JSX.Element {
  const { pathname, fragment } = useStore(here);
  const place = accountPlaceOf(api, fragment) ?? placeOf(api, pathname);
  usePermitted(place.kind === 'unknown' || place.kind === 'account' ? undefined : place.path);
  return (
    <div class="frame" onClick={(event) => followLink(api, event)}>
      <button
        type="button"
        class="skip"
        onClick={() => document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true })}
      >
        {texts.skip}
      </button>
      <header class="top">
        <a class="brand" href={api.roots[0] ?? '/'}>
          <bdi>{api.title}</bdi>
        </a>
        {api.version !== undefined && <span class="version">{api.version}</span>}
        <Palette api={api} />
        <AccountMenu api={api} />
      </header>
      <Sidebar api={api} place={place} />
      <main tabIndex={-1}>
        <NoticeLine />
        <PlacePage key={place.kind === 'record' ? place.path : place.kind + place.path} api={api} place={place} />
      </main>
      <RequestLog />
      <LoginDialog api={api} />
    </div>
  );
}

function PlacePage({ api, place }: { readonly api: Api; readonly place: Place }): JSX.Element {
  const person = useStore(session);
  const { fragment } = useStore(here);
  const title = place.kind === 'collection' ? titleOfList(place.resource, fragment) : titleOfPlace(place);
  useEffect(() => {
    document.title = `${title} · ${api.title}`;
  }, [title, api]);
  switch (place.kind) {
    case 'root':
      return <RootPage api={api} path={place.path} />;
    case 'collection':
      return <CollectionPage api={api} resource={shapedFor(place.resource, person, place.path)} path={place.path} />;
    case 'record':
      return <RecordPage api={api} resource={shapedFor(place.resource, person, place.path)} path={place.path} />;
    case 'account':
      return <AccountPage api={api} page={place.page} />;
    case 'unknown':
      return <p>{texts.unknownPlace}</p>;
  }
}

function titleOfPlace(place: Place): string {
  if (place.kind === 'account') return texts.account;
  return place.kind === 'record' ? place.resource.name : texts.rootTitle;
}

/** Follows a link to a place of the API within the page; all others, and those that open a new tab, are the browser's. */
function followLink(api: Api, event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || event.defaultPrevented || event.button !== 0) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
  if (placeOf(api, link.pathname).kind === 'unknown') return;
  event.preventDefault();
  navigate(link.pathname + link.search + link.hash);
}
