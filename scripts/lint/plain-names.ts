/**
 * A rule of oxlint: names use the words of the trade. It refuses words in identifiers that say too little about what they
 * stand for, such as `asked`, where `requested`, `wanted` or the thing itself is meant.
 */

interface Identifier {
  readonly name: string;
}

interface Context {
  report(problem: { readonly node: Identifier; readonly message: string }): void;
}

/** Refused words, and what to write instead. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['told', 'what it is: the value, the aggregate, the notification'],
  ['tells', 'returns, describes, notifies'],
  ['asked', 'requested, wanted, queried'],
  ['judge', 'check, validate'],
  ['judged', 'checked, validated'],
  ['taking', 'accepting, reading'],
  ['answering', 'responding, returning'],
  ['heard', 'received, subscribed'],
  ['apart', 'separate'],
  ['fate', 'outcome, state'],
  ['sound', 'valid'],
  ['own', 'whose it is, or what sets it off from the others'],
  ['whole', 'complete, or what it is the whole of'],
]);

/** Names of JavaScript and of libraries. */
const FOREIGN = new Set([
  'hasOwn',
  'getOwnPropertyDescriptor',
  'getOwnPropertyDescriptors',
  'getOwnPropertyNames',
  'getOwnPropertySymbols',
  'membersWithOwnFile',
  'ownKeys',
]);

/** Returns the first refused word of an identifier in camelCase, PascalCase or CONSTANT_CASE. */
export function refusedWord(name: string): string | undefined {
  if (FOREIGN.has(name)) return undefined;
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_$#]+/);
  return words.find((word) => INSTEAD.has(word));
}

function create(context: Context): Record<string, (node: Identifier) => void> {
  const check = (node: Identifier): void => {
    const word = refusedWord(node.name);
    if (word === undefined) return;
    context.report({ node, message: `"${node.name}": write, instead of "${word}": ${INSTEAD.get(word)}` });
  };
  return { Identifier: check, PrivateIdentifier: check };
}

// oxlint-disable-next-line import/no-default-export -- what oxlint loads
export default { meta: { name: 'viewset' }, rules: { 'plain-names': { create } } };
