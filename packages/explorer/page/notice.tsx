import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { createStore, useStore } from './store.ts';

/** The time for which a notice stays, in milliseconds. */
const NOTICE_MS = 6000;

/** The last thing that was done, in words. */
export const notice = createStore('');

/** Tells what was done, to whoever looks and to whoever listens. */
export function NoticeLine(): JSX.Element {
  const text = useStore(notice);
  useEffect(() => {
    if (text === '') return;
    const timer = setTimeout(() => notice.set(''), NOTICE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <p class="notice" role="status">
      {text}
    </p>
  );
}
