import { type CallFrame, type CostNode, type FunctionCost, functionCosts } from './function-costs.ts';

/** The parts of V8's CPU profile that are read here. Times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly children?: readonly number[];
}

/** Adds up self and total times by function, in microseconds; the time that the process slept is left out. */
export function functionTimes(profile: CpuProfile): FunctionCost[] {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const self = new Map<number, number>();
  for (const [index, id] of profile.samples.entries()) {
    self.set(id, (self.get(id) ?? 0) + (profile.timeDeltas[index] ?? 0));
  }
  const withTimes = ({ id, callFrame, children = [] }: ProfileNode): CostNode => ({
    callFrame,
    self: self.get(id) ?? 0,
    children: children.map((child) => withTimes(nodes.get(child)!)),
  });
  const root = profile.nodes[0];
  return root === undefined ? [] : functionCosts(withTimes(root));
}
