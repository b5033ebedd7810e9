import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { PUBLISHED } from '../packed-packages.ts';
import { fileOfLink, REPOSITORY } from '../repository.ts';

interface Manifest {
  readonly homepage?: string;
  readonly bugs?: { readonly url: string };
  readonly author?: string;
  readonly repository?: { readonly type: string; readonly url: string; readonly directory: string };
}

const root = fileURLToPath(new URL('../..', import.meta.url));

for (const name of PUBLISHED) {
  const folder = `packages/${name}`;

  t.test(`${folder} names the repository, its folder, its page and its author`, async (t) => {
    const { homepage, bugs, author, repository } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    ) as Manifest;
    t.strictSame(repository, { type: 'git', url: `git+${REPOSITORY}.git`, directory: folder });
    t.equal(homepage, `${REPOSITORY}/tree/main/${folder}#readme`);
    t.strictSame(bugs, { url: `${REPOSITORY}/issues` });
    t.equal(author, 'The Viewset authors');
  });

  t.test(`the links of ${folder}/README.md work on npm: they are absolute`, async (t) => {
    const text = readFileSync(join(root, folder, 'README.md'), 'utf8');
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
    t.strictSame(
      links.filter((link) => !/^(?:https:|mailto:|#)/.test(link)),
      [],
      'none is relative',
    );
    const files = links.flatMap((link) => fileOfLink(link)?.split('#', 1)[0] ?? []);
    t.ok(files.length > 0, 'some lead to the repository');
    t.strictSame(
      files.filter((file) => !existsSync(join(root, file))),
      [],
      'and their files exist',
    );
  });
}
