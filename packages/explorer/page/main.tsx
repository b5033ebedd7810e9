import { render } from 'preact';
import { App } from './app.tsx';

const root = document.querySelector<HTMLElement>('#explorer')!;
render(<App documentUrl={root.dataset['document'] ?? '/openapi.json'} />, root);
