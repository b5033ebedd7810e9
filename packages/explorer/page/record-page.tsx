import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ActionButtons, ActionPanel } from './action-panel.tsx';
import { type Api, collectionsBelow, fillPath, type Operation, type Resource } from './api-model.ts';
import { type Answer, Refusal, send } from './exchanges.ts';
import { here, hrefOf, navigate } from './location.ts';
import { notice } from './notice.tsx';
import { isOffered, isOfferedAfterLogin } from './permissions.ts';
import { isRow, type Row, titleOf } from './records.ts';
import { bodyOf } from './request-body.ts';
import { describe, propertiesOf } from './schema.ts';
import { SchemaForm, type Values } from './schema-form.tsx';
import { session } from './session.ts';
import { Problem, Question, Waiting } from './states.tsx';
import { useStore } from './store.ts';
import { texts } from './texts.ts';
import { useAnswer } from './use-answer.ts';
import { Value } from './value.tsx';
import { humanized, shortened } from './words.ts';

interface RecordProps {
  readonly api: Api;
  readonly resource: Resource;
  readonly path: string;
}

/** A record: a form of what may be changed, and everything else to be read. */
export function RecordPage({ api, resource, path }: RecordProps): JSX.Element {
  const { fragment } = useStore(here);
  const person = useStore(session);
  const awaited = useAnswer(resource.retrieve, path);
  const { answer, refusal, reload } = awaited;
  const row = isRow(answer?.body) ? answer.body : undefined;
  const title = row === undefined ? resource.singular : shortened(titleOf(resource, row), 200);
  const actions = resource.recordActions.filter((action) => isOffered(action, person));
  const action = actions.find(({ id }) => id === fragment.get('action'));
  const collection = fillPath(resource.path, path);
  return (
    <>
      <p class="crumbs">
        {resource.list === undefined ? resource.name : <a href={collection}>{resource.name}</a>}
        <span aria-hidden="true"> / </span>
        <bdi>{decodeURIComponent(path.split('/').at(-1) ?? '')}</bdi>
      </p>
      <div class="heading">
        <h1 class="record-title">
          <bdi>{title}</bdi>
        </h1>
        <div class="buttons">
          {action !== undefined && (
            <a class="button" href={path}>
              {texts.back}
            </a>
          )}
          {action === undefined && row !== undefined && <ActionButtons actions={actions} path={path} />}
        </div>
      </div>
      <ul class="below">
        {collectionsBelow(api, resource).map((each) => (
          <li key={each.path}>
            <a href={fillPath(each.path, path)}>{each.name}</a>
          </li>
        ))}
      </ul>
      <Waiting awaited={awaited} />
      {refusal !== undefined && <Problem refusal={refusal} onRetry={reload} />}
      {action !== undefined && (
        <>
          <h2>{action.summary}</h2>
          <ActionPanel key={action.id} api={api} action={action} path={path} />
        </>
      )}
      {row !== undefined && action === undefined && (
        <RecordView
          key={awaited.isWaiting ? 'before' : 'now'}
          api={api}
          resource={resource}
          path={path}
          row={row}
          answer={answer!}
          reload={reload}
        />
      )}
    </>
  );
}

interface ViewProps extends RecordProps {
  readonly row: Row;
  readonly answer: Answer;
  readonly reload: () => void;
}

function RecordView(props: ViewProps): JSX.Element {
  const { api, resource, row } = props;
  const person = useStore(session);
  const { update, destroy } = resource;
  const mayWrite = isOffered(update, person) && update.body !== undefined;
  const written = mayWrite ? new Set(propertiesOf(api.document, update.body.schema).map(([name]) => name)) : undefined;
  const facts = Object.keys(row).filter((name) => written?.has(name) !== true);
  return (
    <div class="record">
      {mayWrite && <UpdateForm {...props} update={update} />}
      {!mayWrite && (
        <p class="hint">{isOfferedAfterLogin(update, person) ? texts.readOnlyUntilLogin : texts.readOnly}</p>
      )}
      {facts.length > 0 && <Facts api={api} resource={resource} row={row} names={facts} isAside={mayWrite} />}
      {isOffered(destroy, person) && <DeleteButton {...props} destroy={destroy} />}
    </div>
  );
}

/** What the server says of a record, to be read. */
function Facts({
  api,
  resource,
  row,
  names,
  isAside,
}: {
  readonly api: Api;
  readonly resource: Resource;
  readonly row: Row;
  readonly names: readonly string[];
  readonly isAside: boolean;
}): JSX.Element {
  const schemas = new Map(propertiesOf(api.document, resource.retrieve?.answer ?? resource.row));
  return (
    <section class="facts" aria-label={isAside ? texts.facts : undefined}>
      {isAside && <h2>{texts.facts}</h2>}
      <dl>
        {names.map((name) => (
          <div key={name}>
            <dt>
              <bdi>{humanized(name)}</bdi>
            </dt>
            <dd>
              {typeof row[name] === 'object' && row[name] !== null && !('url' in row[name]) ? (
                <pre>{shortened(JSON.stringify(row[name], undefined, 2), 20_000)}</pre>
              ) : (
                <Value value={row[name]} described={describe(api.document, schemas.get(name), name)} length={20_000} />
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function UpdateForm({
  api,
  resource,
  path,
  row,
  answer,
  reload,
  update,
}: ViewProps & { readonly update: Operation }): JSX.Element {
  const before = valuesOf(api, update, row);
  const tag = answer.headers.get('etag');
  return (
    <SchemaForm
      api={api}
      schema={requiredAlso(resource, update)}
      purpose="record"
      initial={before}
      isUpdate
      submitLabel={texts.save}
      onSubmit={async (values) => {
        const changes = changesOf(before, values);
        if (Object.keys(changes).length === 0) return notice.set(texts.unchanged);
        await send({
          operation: update,
          url: path,
          body: bodyOf(update, changes),
          ...(tag === null || tag.startsWith('W/') ? {} : { headers: { 'if-match': tag } }),
        });
        notice.set(texts.saved);
        reload();
      }}
      buttons={
        <button type="button" onClick={reload}>
          {texts.reload}
        </button>
      }
    />
  );
}

/** The schema of changes. That of creating says which fields are never empty. */
function requiredAlso({ create }: Resource, { body }: Operation) {
  const required = create?.body?.schema.required ?? [];
  return { ...body!.schema, required };
}

/** What the form begins with: the fields that may be written, as the record has them. */
function valuesOf(api: Api, { body }: Operation, row: Row): Values {
  const entries = propertiesOf(api.document, body!.schema)
    .filter(([name]) => row[name] !== undefined)
    .map(([name, schema]) => {
      const { kind, schema: inner } = describe(api.document, schema, name);
      const items = describe(api.document, inner.items).schema['x-reference'];
      const value = row[name];
      if (kind === 'reference') return [name, keyOf(value, inner['x-reference']!.field)] as const;
      const isReferences = items !== undefined && Array.isArray(value);
      return [name, isReferences ? value.map((each) => keyOf(each, items.field)) : value] as const;
    });
  return Object.fromEntries(entries);
}

/** The key of a related record, be it shown as its key or as an object. */
function keyOf(value: unknown, field: string): unknown {
  return isRow(value) ? value[field] : value;
}

function changesOf(before: Values, after: Values): Values {
  const entries = Object.entries(after).filter(
    ([name, value]) => value instanceof File || JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function DeleteButton({ resource, path, row, destroy }: ViewProps & { readonly destroy: Operation }): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const title = shortened(titleOf(resource, row), 80);
  const remove = async (): Promise<void> => {
    setAsking(false);
    try {
      await send({ operation: destroy, url: path });
      notice.set(texts.deleted(title));
      navigate(
        resource.list === undefined
          ? '/'
          : hrefOf(fillPath(resource.path, path), new URLSearchParams(), new URLSearchParams()),
      );
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
    }
  };
  return (
    <section class="end">
      {refusal !== undefined && <Problem refusal={refusal} />}
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        {texts.delete}
      </button>
      {isAsking && (
        <Question
          title={texts.deleteQuestion(title)}
          confirmLabel={texts.delete}
          onConfirm={() => void remove()}
          onCancel={() => setAsking(false)}
        >
          <p>{texts.deleteHint}</p>
        </Question>
      )}
    </section>
  );
}
