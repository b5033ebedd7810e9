import type { JSX } from 'preact';
import { copyText } from './copy-text.ts';
import { texts } from '../src/texts.ts';

/** A text that is shown once, to be copied. */
export function Secret({ text }: { readonly text: string }): JSX.Element {
  return (
    <div class="secret">
      <pre tabIndex={0}>{text}</pre>
      <button type="button" onClick={() => void copyText(text)}>
        {texts.copy}
      </button>
    </div>
  );
}
