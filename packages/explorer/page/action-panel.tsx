import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Api, fillPath, type Operation, rowOf } from './api-model.ts';
import { useDraft, type Values } from './drafts.ts';
import { type Answer, send } from './exchanges.ts';
import { schemaOf } from './list-query.ts';
import { here, hrefOf } from './location.ts';
import type { Schema } from './openapi.ts';
import { rowsOf, textOf } from './records.ts';
import { RowsTable } from './rows-table.tsx';
import { SchemaForm } from './schema-form.tsx';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';

/** The actions of a collection or a record: each leads to its form. */
export function ActionButtons({
  actions,
  path,
}: {
  readonly actions: readonly Operation[];
  readonly path: string;
}): JSX.Element {
  const { query } = useStore(here);
  return (
    <>
      {actions.map(({ id, summary, description }) => (
        <a key={id} class="button" href={hrefOf(path, query, new URLSearchParams({ action: id }))} title={description}>
          {summary}
        </a>
      ))}
    </>
  );
}

/** The form of an action, and what it has answered. */
export function ActionPanel({
  api,
  action,
  path,
}: {
  readonly api: Api;
  readonly action: Operation;
  readonly path: string;
}): JSX.Element {
  const [answer, setAnswer] = useState<Answer>();
  const [sent, setSent] = useState<Values>();
  const draft = useDraft(`${action.id} ${path}`, undefined);
  return (
    <>
      {action.description !== undefined && <p class="lead">{action.description}</p>}
      <SchemaForm
        api={api}
        schema={formSchema(action)}
        purpose="action"
        draft={draft}
        initial={sent}
        submitLabel={texts.run}
        onSend={() => setAnswer(undefined)}
        onSubmit={async (values) => {
          const { query, body } = split(action, values);
          const url = hrefOf(fillPath(action.path, path), query, new URLSearchParams());
          const found = await send({ operation: action, url, ...(action.body === undefined ? {} : { body }) });
          setAnswer(found);
          // The values stand there to be sent again, changed perhaps.
          setSent(values);
          draft.settle(draft, undefined);
        }}
      />
      {answer !== undefined && (
        <section class="result" aria-live="polite" aria-label={texts.result}>
          <h2>{texts.actionDone(answer.status)}</h2>
          <Result api={api} action={action} body={answer.body} />
        </section>
      )}
    </>
  );
}

/** One schema of the parameters and of the body: their names are told apart again when they are sent. */
function formSchema({ query, body }: Operation): Schema {
  const parameters = query.map((parameter) => {
    const { description } = parameter;
    return [parameter.name, { ...schemaOf(parameter), ...(description === undefined ? {} : { description }) }] as const;
  });
  const { properties = {}, required = [] } = body?.schema ?? {};
  const needed = query.filter((parameter) => parameter.required === true).map(({ name }) => name);
  return {
    type: 'object',
    properties: { ...Object.fromEntries(parameters), ...properties },
    required: [...needed, ...required],
  };
}

function split({ query, body }: Operation, values: Values): { query: URLSearchParams; body: Values } {
  const sent = new URLSearchParams();
  const names = new Set(Object.keys(body?.schema.properties ?? {}));
  for (const parameter of query) {
    const value = values[parameter.name];
    if (names.has(parameter.name) || value === undefined || value === null || value === '') continue;
    const items = Array.isArray(value) && parameter.explode !== false ? value : [value];
    for (const each of items) sent.append(parameter.name, textOf(each));
  }
  const isParameter = new Set(query.map(({ name }) => name));
  const rest = Object.entries(values).filter(([name]) => names.has(name) || !isParameter.has(name));
  return { query: sent, body: Object.fromEntries(rest) };
}

/** The answer of an action: its records as a table, everything else as it came. */
function Result({
  api: { document },
  action,
  body,
}: {
  readonly api: Api;
  readonly action: Operation;
  readonly body: unknown;
}): JSX.Element {
  const rows = rowsOf(body);
  if (body === undefined) return <p>{texts.noContent}</p>;
  if (rows.length === 0) return <pre tabIndex={0}>{JSON.stringify(body, undefined, 2)}</pre>;
  return <RowsTable document={document} schema={rowOf(document, action.answer)} rows={rows} label={texts.result} />;
}
