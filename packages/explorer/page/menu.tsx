import type { ComponentChildren, JSX, TargetedFocusEvent, TargetedKeyboardEvent } from 'preact';

/** A button that opens a small panel. Escape closes it, and so does whoever goes on to something else. */
export function Menu({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <details class="menu" onKeyDown={closeOnEscape} onFocusOut={closeOnLeave}>
      <summary class="button">{label}</summary>
      <div class="menu-panel">{children}</div>
    </details>
  );
}

function closeOnEscape(event: TargetedKeyboardEvent<HTMLDetailsElement>): void {
  if (event.key === 'Escape' && event.currentTarget.open) closeMenu(event.currentTarget);
}

/** Closes the menu that an element is in, and goes back to its button. */
export function closeMenu(element: Element): void {
  const menu = element.closest('details');
  if (menu === null) return;
  menu.open = false;
  menu.querySelector('summary')?.focus();
}

function closeOnLeave(event: TargetedFocusEvent<HTMLDetailsElement>): void {
  const { relatedTarget, currentTarget } = event;
  if (relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
}
