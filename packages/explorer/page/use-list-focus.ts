import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/**
 * Leads whoever is at the keyboard: to the first input of an item that was added, and to the button that adds when one
 * was removed, whose own button went with it.
 */
export function useListFocus(count: number): RefObject<HTMLDivElement | null> {
  const list = useRef<HTMLDivElement>(null);
  const before = useRef(count);
  useEffect(() => {
    const isFewer = count < before.current;
    const isMore = count === before.current + 1;
    before.current = count;
    // Elsewhere on the page, the items have changed by themselves.
    const isHere = document.activeElement === document.body || list.current?.contains(document.activeElement);
    if (isHere !== true) return;
    const items = list.current?.querySelectorAll<HTMLElement>('.item') ?? [];
    const next = isMore ? items[count - 1]?.querySelector<HTMLElement>('input, select, textarea') : undefined;
    const way = list.current?.querySelector<HTMLElement>(':scope > button, [role=combobox]');
    const chosen = next ?? (isFewer ? way : undefined);
    chosen?.focus();
  }, [count]);
  return list;
}
