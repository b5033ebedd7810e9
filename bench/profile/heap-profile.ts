import { type CallFrame, type CostNode, type FunctionCost, functionCosts } from './function-costs.ts';

/** The parts of V8's heap profile that are read here. Sizes in bytes. */
export interface HeapProfile {
  readonly head: HeapNode;
}

interface HeapNode {
  readonly callFrame: CallFrame;
  readonly selfSize: number;
  readonly children: readonly HeapNode[];
}

/** Sums the allocations of each function, in bytes. */
export function functionAllocations({ head }: HeapProfile): FunctionCost[] {
  return functionCosts(toCost(head));
}

function toCost({ callFrame, selfSize, children }: HeapNode): CostNode {
  return { callFrame, self: selfSize, children: children.map(toCost) };
}
