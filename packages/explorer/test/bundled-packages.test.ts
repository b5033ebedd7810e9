import { readFileSync } from 'node:fs';
import t from 'tap';
import { readBillOfMaterials } from '../page/bill-of-materials.ts';
import { bundlePage } from '../page/bundle-page.ts';

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const { bundled } = await bundlePage({ minify: false });

t.test('the page contains Preact and uqr, which nobody installs with the package', (t) => {
  const { dependencies, devDependencies } = readManifest('../package.json');
  t.strictSame(bundled, ['preact', 'uqr']);
  t.strictSame(
    bundled.filter((name) => name in dependencies || !(name in devDependencies)),
    [],
  );
  t.end();
});

t.test('the bill of materials names what the page contains, in the bundled versions', (t) => {
  const { components, dependencies } = readBillOfMaterials(bundled);
  const versions = new Set(components.map(({ name, version }) => `${name}@${version}`));
  for (const name of ['fastify-plugin', ...bundled]) {
    t.ok(versions.has(`${name}@${readManifest(`../node_modules/${name}/package.json`).version}`), name);
  }
  const refs = bundled.map((name) => `pkg:npm/${name}@${readManifest(`../node_modules/${name}/package.json`).version}`);
  const explorer = dependencies.find(({ ref }) => ref.startsWith('pkg:npm/%40viewset/explorer@'));
  t.strictSame(
    refs.filter((ref) => explorer?.dependsOn.includes(ref) !== true),
    [],
  );
  t.end();
});

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Manifest;
}
