import type { LaterScript } from '../src/later-scripts.ts';

/** Loads a script that only some pages need. The server tells its URL. */
export function loadScript<Module>(name: LaterScript): Promise<Module> {
  return import(document.querySelector<HTMLElement>('#explorer')!.dataset[name]!) as Promise<Module>;
}
