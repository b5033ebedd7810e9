import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Api, fillPath, type Operation, rowOf } from './api-model.ts';
import { useDraft, type Values } from './drafts.ts';
import { type Answer, Refusal, send } from './exchanges.ts';
import { schemaOf } from './list-query.ts';
import { here, hrefOf } from './location.ts';
import type { Schema } from './openapi.ts';
import { Facts } from './facts.tsx';
import { isRow, itemsOf, type Row, rowsOf, textOf } from './records.ts';
import { recordHref } from './reference-href.ts';
import { RowsTable } from './rows-table.tsx';
import { SchemaForm } from './schema-form.tsx';
import { Problem, Waiting } from './states.tsx';
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
  const run = async (values: Values): Promise<void> => {
    const { query, body } = split(action, values);
    const url = hrefOf(fillPath(action.path, path), query, new URLSearchParams());
    setAnswer(await send({ operation: action, url, ...(action.body === undefined ? {} : { body }) }));
    // The values stand there to be sent again, changed perhaps.
    setSent(values);
    draft.settle(draft, undefined);
  };
  return (
    <>
      {action.description !== undefined && <p class="lead">{action.description}</p>}
      {isPlainQuestion(action) ? (
        <PlainQuestion onSend={() => setAnswer(undefined)} onRun={() => run({})} />
      ) : (
        <SchemaForm
          api={api}
          schema={formSchema(action)}
          purpose="action"
          draft={draft}
          initial={sent}
          submitLabel={texts.run}
          onSend={() => setAnswer(undefined)}
          onSubmit={run}
        />
      )}
      {answer !== undefined && (
        <section class="result" aria-live="polite" aria-label={texts.result}>
          <h2>{texts.actionDone(answer.status)}</h2>
          <Result api={api} action={action} path={path} body={answer.body} />
        </section>
      )}
    </>
  );
}

/** Tells if an action only reads, and needs nothing to be filled in. */
function isPlainQuestion({ method, query, body }: Operation): boolean {
  return method === 'GET' && query.length === 0 && body === undefined;
}

/** Asks at once, and again on demand. */
function PlainQuestion({
  onSend,
  onRun,
}: {
  readonly onSend: () => void;
  readonly onRun: () => Promise<void>;
}): JSX.Element {
  const [refusal, setRefusal] = useState<Refusal>();
  const [isWaiting, setWaiting] = useState(false);
  const ask = (): void => {
    onSend();
    setRefusal(undefined);
    setWaiting(true);
    onRun()
      .catch((error: unknown) => {
        if (!(error instanceof Refusal)) throw error;
        setRefusal(error);
      })
      .finally(() => setWaiting(false));
  };
  useEffect(ask, []);
  if (refusal !== undefined) return <Problem refusal={refusal} onRetry={ask} />;
  return (
    <>
      <button type="button" aria-disabled={isWaiting} onClick={() => !isWaiting && ask()}>
        {texts.runAgain}
      </button>
      <Waiting isWaiting={isWaiting} />
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
    const items = [value].flat().map(textOf);
    for (const item of parameter.explode === false ? [items.join(',')] : items) sent.append(parameter.name, item);
  }
  const isParameter = new Set(query.map(({ name }) => name));
  const rest = Object.entries(values).filter(([name]) => names.has(name) || !isParameter.has(name));
  return { query: sent, body: Object.fromEntries(rest) };
}

/** A group of a summary as one row: the values of its keys, the number of its records, and `sum total`. */
function flatGroup({ group, ...aggregates }: Row): Row {
  const values = Object.entries(aggregates).flatMap(([name, value]) =>
    isRow(value) ? Object.entries(value).map(([field, each]) => [`${name} ${field}`, each]) : [[name, value]],
  );
  return { ...(group as Row), ...(Object.fromEntries(values) as Row) };
}

/** The answer of an action: records as a table, a single one by its fields, everything else as it came. */
function Result({
  api,
  action,
  path,
  body,
}: {
  readonly api: Api;
  readonly action: Operation;
  readonly path: string;
  readonly body: unknown;
}): JSX.Element {
  const isSummary = action.facts?.action === 'summary';
  const rows = isSummary ? rowsOf(body).map(flatGroup) : rowsOf(body);
  if (body === undefined) return <p>{texts.noContent}</p>;
  if (rows.length > 0) {
    return (
      <RowsTable
        api={api}
        schema={isSummary ? undefined : rowOf(api.document, action.answer)}
        rows={rows}
        label={texts.result}
        path={path}
      />
    );
  }
  if (itemsOf(body)?.length === 0) return <p>{texts.noRows}</p>;
  const href = recordHref(api, action.answer, path)?.(body);
  if (href === undefined || !isRow(body)) return <pre tabIndex={0}>{JSON.stringify(body, undefined, 2)}</pre>;
  return (
    <>
      <Facts api={api} schema={action.answer!} row={body} names={Object.keys(body)} isAside={false} />
      <a href={href}>{texts.openRecord}</a>
    </>
  );
}
