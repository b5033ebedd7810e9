/**
 * Runs the official Postman collection of RealWorld against Conduit with newman, and validates each response against the document. The file
 * is not part of this repository: set REALWORLD_COLLECTION to its path, or put it into `shared/realworld` next to the repository. Install
 * newman from npm.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npmProgram } from '../../../scripts/foreign-programs.ts';
import { withConduit } from '../test/conduit.ts';
import { responseProblems } from './response-problems.ts';

const collection =
  process.env['REALWORLD_COLLECTION'] ??
  fileURLToPath(new URL('../../../../shared/realworld/Conduit.postman_collection.json', import.meta.url));
const newman = existsSync(collection) ? npmProgram('newman@6.2.2', 'newman') : undefined;
const isCi = process.env['CI'] === 'true';
const skip =
  (!existsSync(collection) && 'the official collection is not there: NOT TESTED') ||
  (newman === undefined && !isCi && 'the registry does not answer: NOT TESTED');

interface Report {
  readonly run: {
    readonly stats: Readonly<Record<'assertions' | 'requests', { readonly total: number; readonly failed: number }>>;
    readonly failures: readonly unknown[];
    readonly executions: readonly Execution[];
  };
}

interface Execution {
  readonly item: { readonly name: string };
  readonly request: { readonly method: string; readonly url: { readonly path: readonly string[] } };
  readonly response: { readonly code: number; readonly stream: { readonly data: readonly number[] } };
}

withConduit(async (t, { app, database }) => {
  t.setTimeout(300_000);
  await t.test('the official collection passes', { skip }, async (t) => {
    await app.listen({ port: 0, host: '127.0.0.1' });
    const folder = mkdtempSync(join(tmpdir(), 'viewset-newman-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const report = join(folder, 'report.json');
    const variables = {
      APIURL: `${app.listeningOrigin}/api`,
      USERNAME: 'johnjacob',
      EMAIL: 'john@jacob.com',
      PASSWORD: 'johnnyjacob',
    };
    const args = Object.entries(variables).flatMap(([name, value]) => ['--global-var', `${name}=${value}`]);
    const child = spawn(
      newman!,
      ['run', collection, ...args, '--reporters', 'json', '--reporter-json-export', report],
      { stdio: 'ignore' },
    );
    await once(child, 'close');
    const { run } = JSON.parse(readFileSync(report, 'utf8')) as Report;
    const { assertions } = run.stats;
    t.comment(`${database}: ${assertions.total - assertions.failed} of ${assertions.total} assertions passed`);
    t.same(run.failures, []);
    t.ok(assertions.total >= 311, 'every assertion was made');
    const document = (await app.inject('/openapi.json')).json<object>();
    for (const { item, request, response } of run.executions) {
      const path = `/${request.url.path.join('/')}`;
      const body = Buffer.from(response.stream.data).toString();
      t.same(responseProblems(document, { method: request.method, path, status: response.code, body }), [], item.name);
    }
  });
});
