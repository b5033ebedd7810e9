import { readFileSync } from 'node:fs';

/** The owner in the addresses until the project has one. No account of GitHub can have this name. */
const PLACEHOLDER = 'viewset_placeholder';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly repository: { readonly url: string };
};

/** The repository's page on GitHub, from `repository` of the root's package.json. `scripts/set-repository.ts` changes it everywhere. */
export const REPOSITORY = manifest.repository.url.replace(/^git\+/, '').replace(/\.git$/, '');

/** True until `scripts/set-repository.ts` has set an owner. */
export const isPlaceholder = REPOSITORY.includes(`/${PLACEHOLDER}/`);

/** Returns the file of the repository, with the fragment, that an absolute link leads to; undefined for a link to elsewhere. */
export function fileOfLink(link: string): string | undefined {
  const [, file] =
    /^\/(?:blob|tree|raw)\/main\/(.+)$/.exec(link.startsWith(REPOSITORY) ? link.slice(REPOSITORY.length) : '') ?? [];
  return file;
}
