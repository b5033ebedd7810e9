/**
 * Generates clients of the shop's document with OpenAPI Generator, in Java and Python, compiles them, and uses them against
 * the shop. Needs Java, Maven and Python; Maven and pip bring the rest.
 */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { fetchOpenapiGenerator, run, skipWithout } from '../../../scripts/client-generators.ts';
import { startShop } from '../test/support/shop.ts';

const EXEC_PLUGIN = 'org.codehaus.mojo:exec-maven-plugin:3.5.0';
const skip = skipWithout(['java', '-version'], ['mvn', '--version']);

t.test('generated clients compile, and work against the shop', { skip }, async (t) => {
  t.setTimeout(900_000);
  const shop = await startShop(t);
  const folder = mkdtempSync(join(tmpdir(), 'viewset-generators-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${shop.url}/openapi.json`)).text());
  const jar = await fetchOpenapiGenerator(t);
  const generate = (language: string, ...options: string[]) =>
    run(t, folder, 'java', ['-jar', jar, 'generate', '-i', 'openapi.json', '-g', language, '-o', language, ...options]);

  await t.test('Java', async (t) => {
    const packages = 'invokerPackage=shop,apiPackage=shop.api,modelPackage=shop.model';
    await generate('java', '--additional-properties', packages);
    copyFileSync(generatorFile('UseShop.java'), join(folder, 'java/src/main/java/UseShop.java'));
    const use = [`${EXEC_PLUGIN}:java`, '-Dexec.mainClass=UseShop', `-Dexec.args=${shop.url}`];
    await run(t, join(folder, 'java'), 'mvn', ['-q', '-B', 'compile', ...use]);
  });

  await t.test('Python', async (t) => {
    await generate('python', '--package-name', 'shop_client');
    await run(t, folder, 'python3', ['-m', 'venv', 'venv']);
    await run(t, folder, 'venv/bin/pip', ['install', '--quiet', './python']);
    await run(t, folder, 'venv/bin/python', [generatorFile('use_shop.py'), shop.url]);
  });
});

function generatorFile(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
