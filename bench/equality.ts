import type { BenchDatabase } from './data/database.ts';
import type { ServerProcess } from './server-process.ts';
import type { Answer } from './servers/serve.ts';
import type { BenchRequest, Workload } from './workloads.ts';

/**
 * Sends every request of a workload to every server, and throws if a response differs in a byte from the first server's. The floor receives
 * the responses of the first server, and is then compared like the others.
 */
export async function compareAnswers(
  servers: readonly ServerProcess[],
  workload: Workload,
  database: BenchDatabase,
): Promise<void> {
  const [reference, ...others] = servers.toSorted((a, b) => Number(a.name === 'floor') - Number(b.name === 'floor'));
  if (reference === undefined) return;
  const expected = await answersOf(reference, workload, database);
  for (const answer of expected) checkPlausible(reference, workload, answer);
  for (const server of others) {
    if (server.name === 'floor') await server.setConstants(constantsOf(workload, expected));
    const answers = await answersOf(server, workload, database);
    for (const [index, request] of workload.requests.entries()) {
      const [wanted, received] = [JSON.stringify(expected[index]), JSON.stringify(answers[index])];
      // The floor stores one response per path, the first.
      if (wanted !== received && server.name !== 'floor') {
        throw new Error(`${request.path}: ${reference.name} and ${server.name} differ\n${wanted}\n${received}`);
      }
    }
  }
  await database.clearDrafts();
}

async function answersOf(server: ServerProcess, workload: Workload, database: BenchDatabase): Promise<Answer[]> {
  await database.clearDrafts();
  const answers: Answer[] = [];
  for (const request of workload.requests) answers.push(await answerOf(server, request));
  return answers;
}

async function answerOf(server: ServerProcess, { method, path, headers, body }: BenchRequest): Promise<Answer> {
  const response = await fetch(server.url + path, { method, headers, ...(body === undefined ? {} : { body }) });
  return {
    status: response.status,
    contentType: response.headers.get('content-type'),
    location: response.headers.get('location'),
    body: await response.text(),
  };
}

function constantsOf(workload: Workload, answers: readonly Answer[]): Map<string, Answer> {
  const constants = new Map<string, Answer>();
  for (const [index, { path }] of workload.requests.entries()) {
    if (!constants.has(path)) constants.set(path, answers[index]!);
  }
  return constants;
}

/** Equal responses prove nothing if all are empty or errors. */
function checkPlausible(server: ServerProcess, { name, requests }: Workload, { status, body }: Answer): void {
  const records = (JSON.parse(body) as { results?: unknown[] }).results;
  if (status >= 300 || records?.length === 0) {
    throw new Error(`${server.name}: ${name} (${requests[0]?.path}) is answered with ${status} ${body.slice(0, 500)}`);
  }
}
