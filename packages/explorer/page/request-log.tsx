import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { copyText } from './copy-text.ts';
import { covered, curlOf } from './curl.ts';
import { type Exchange, exchanges, shownHeader } from './exchanges.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { shortened } from './words.ts';

/** The longest body that is shown, in characters. */
const SHOWN = 20_000;

/** The last request in one line; all of them, raw, on demand. */
export function RequestLog(): JSX.Element {
  const all = useStore(exchanges);
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<number>();
  // What the page asks for itself does not push away what somebody has asked for.
  const last = all.find(({ isOfPage }) => !isOfPage) ?? all[0];
  const shown = all.find(({ number }) => number === chosen) ?? last;
  return (
    <footer class={`log${isOpen ? ' open' : ''}`}>
      <button
        type="button"
        class="log-line"
        aria-expanded={isOpen}
        aria-controls="requests"
        onClick={() => setOpen(!isOpen)}
      >
        <span class="log-title">{texts.requests}</span>
        {last === undefined ? <span class="none">{texts.noRequests}</span> : <Line exchange={last} />}
      </button>
      <section id="requests" hidden={!isOpen} aria-label={texts.requests}>
        {isOpen && (
          <>
            <ol class="log-list">
              {all.map((exchange) => (
                <li key={exchange.number}>
                  <button
                    type="button"
                    aria-current={exchange.number === shown?.number ? 'true' : undefined}
                    onClick={() => setChosen(exchange.number)}
                  >
                    <Line exchange={exchange} />
                  </button>
                </li>
              ))}
            </ol>
            {shown !== undefined && <Raw exchange={shown} />}
          </>
        )}
      </section>
    </footer>
  );
}

function Line({ exchange }: { readonly exchange: Exchange }): JSX.Element {
  const { method, url, answer, failed, durationMs } = exchange;
  const isBad = failed || (answer !== undefined && answer.status >= 400);
  return (
    <>
      <span class="method">{method}</span> <span class="url">{shortened(decoded(url), 200)}</span>{' '}
      <span class={isBad ? 'status bad' : 'status'}>{answer?.status ?? (failed ? texts.failed : texts.waiting)}</span>{' '}
      {durationMs !== undefined && <span class="time">{texts.milliseconds(durationMs)}</span>}
    </>
  );
}

/** A URL as people read it. */
function decoded(url: string): string {
  try {
    return decodeURI(url);
  } catch {
    return url;
  }
}

/** A request and its answer, as they went over the wire. */
function Raw({ exchange }: { readonly exchange: Exchange }): JSX.Element {
  const { method, url, headers, body = formText(exchange), answer } = exchange;
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${shownHeader(name, value)}`);
  return (
    <div class="raw">
      <div class="raw-head">
        <h2>{texts.request}</h2>
        <button
          type="button"
          class="small"
          title={texts.curlHint}
          onClick={() => void copyText(curlOf(exchange, location.origin), texts.curlHint)}
        >
          {texts.copyCurl}
        </button>
      </div>
      <pre tabIndex={0}>{`${method} ${url}\n${head.join('\n')}\n\n${pretty(body ?? '')}`.trimEnd()}</pre>
      <h2>{texts.answer}</h2>
      <pre tabIndex={0}>
        {answer === undefined
          ? exchange.failed
            ? texts.failed
            : texts.waiting
          : `${answer.status} ${answer.statusText}\n${answer.headers.map(([name, value]) => `${name}: ${value}`).join('\n')}\n\n${pretty(answer.text)}`.trimEnd()}
      </pre>
      <h2>{texts.curl}</h2>
      <pre tabIndex={0}>{shortened(curlOf(exchange, location.origin), SHOWN)}</pre>
    </div>
  );
}

/** The parts of a form, a line each. */
function formText({ form = [] }: Exchange): string {
  return form.map((part) => `${part.name}=${'text' in part ? part.text : `@${part.fileName}`}`).join('\n');
}

function pretty(text: string): string {
  if (text.length > SHOWN) return shortened(text, SHOWN);
  try {
    return JSON.stringify(JSON.parse(covered(text)), undefined, 2);
  } catch {
    return text;
  }
}
