import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './http-client.ts';
import type { Shop } from './shop.ts';

/** The health report of a shop and its servers. */
export interface Health {
  status: string;
  checks: Record<string, { status: string }>;
}

const PATIENCE_MS = 5000;

/** Waits until /health/ has this status, and returns its report; a report is cached for a second. */
export async function untilHealth(shop: Shop, status: number): Promise<Answer<Health>> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await shop.get<Health>('/health/');
    if (answer.status === status || performance.now() > deadline) return answer;
    await sleep(50);
  }
}
