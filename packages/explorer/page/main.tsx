import { render } from 'preact';
import { texts } from '../src/texts.ts';
import { App } from './app.tsx';

const root = document.querySelector<HTMLElement>('#explorer')!;
const { document: documentUrl = '/openapi.json', texts: translation } = root.dataset;
if (translation !== undefined) {
  const { default: translated } = (await import(translation)) as { default: Partial<typeof texts> };
  Object.assign(texts, translated);
}
render(<App documentUrl={documentUrl} />, root);
