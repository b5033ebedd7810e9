import type { Cores } from '../cores.ts';
import { median } from '../statistics.ts';
import type { ApplicationKind, StartReport } from './application.ts';
import { startApplication } from './application-size.ts';

/** The cost of a document to an application of so many views: medians of starts, in time of the processor. */
export interface DocumentCost {
  readonly views: number;
  /** The start of the views alone, from the first plugin until Fastify is ready. */
  readonly startCpuMs: number;
  readonly swaggerStartCpuMs: number;
  readonly documentedStartCpuMs: number;
  /** The first request for the document. */
  readonly documentCpuMs: number;
  readonly swaggerDocumentCpuMs: number;
  /** One request for a record, without a document and with it. */
  readonly requestCpuMicroseconds: number;
  readonly documentedRequestCpuMicroseconds: number;
}

const KINDS = ['views', 'swagger', 'documented'] as const satisfies readonly ApplicationKind[];

/** Starts the three kinds in turns, so that other load on the machine affects all of them. */
export function documentCost(views: number, starts: number, cores: Cores): DocumentCost {
  const rounds = Array.from({ length: starts }, () => KINDS.map((kind) => startApplication(views, kind, cores, true)));
  const of = (kind: (typeof KINDS)[number], name: keyof StartReport): number =>
    median(rounds.map((reports) => reports[KINDS.indexOf(kind)]![name]));
  return {
    views,
    startCpuMs: of('views', 'registrationCpuMs'),
    swaggerStartCpuMs: of('swagger', 'registrationCpuMs'),
    documentedStartCpuMs: of('documented', 'registrationCpuMs'),
    documentCpuMs: of('documented', 'documentCpuMs'),
    swaggerDocumentCpuMs: of('swagger', 'documentCpuMs'),
    requestCpuMicroseconds: of('views', 'requestCpuMicroseconds'),
    documentedRequestCpuMicroseconds: of('documented', 'requestCpuMicroseconds'),
  };
}
