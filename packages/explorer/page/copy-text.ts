import { notice } from './notice.tsx';
import { texts } from '../src/texts.ts';

/** Puts a text into the clipboard, and says whether it is there. */
export async function copyText(text: string, hint = ''): Promise<void> {
  const isCopied = await writeText(text);
  notice.set(isCopied ? `${texts.copied} ${hint}`.trim() : texts.notCopied);
}

async function writeText(text: string): Promise<boolean> {
  // Browsers have it on pages that came by HTTPS or from this machine.
  const { clipboard } = navigator as { readonly clipboard?: Clipboard };
  if (clipboard === undefined) return copySelected(text);
  try {
    await clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** Copies a text as people do: by selecting it. */
function copySelected(text: string): boolean {
  const from = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'unseen';
  document.body.append(area);
  area.select();
  // oxlint-disable-next-line typescript/no-deprecated -- the only way there is on a page that came by plain HTTP
  const isCopied = document.execCommand('copy');
  area.remove();
  if (from instanceof HTMLElement) from.focus();
  return isCopied;
}
