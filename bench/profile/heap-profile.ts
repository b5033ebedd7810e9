import { type CallFrame, type CostNode, type FunctionCost, functionCosts } from './function-costs.ts';

/** What V8's profiler of the heap gives, as far as it is read here. Sizes in bytes. */
export interface HeapProfile {
  readonly head: HeapNode;
}

interface HeapNode {
  readonly callFrame: CallFrame;
  readonly selfSize: number;
  readonly children: readonly HeapNode[];
}

/** Adds up by function what was allocated, in bytes. */
export function functionAllocations({ head }: HeapProfile): FunctionCost[] {
  return functionCosts(toCost(head));
}

function toCost({ callFrame, selfSize, children }: HeapNode): CostNode {
  return { callFrame, self: selfSize, children: children.map(toCost) };
}
