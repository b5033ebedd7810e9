import type { Statement } from './dialects/reader.ts';

/** Something that decides the text of a statement: an object that is the same each time, such as a path, or a piece of text. */
export type Step = object | string;

/** A place in a tree of texts: what all statements have in common that begin with the same steps. */
export class TextNode {
  /** The statement whose steps end here. */
  statement: Statement | undefined = undefined;
  #next: Map<Step, TextNode> | undefined;

  next(step: Step): TextNode | undefined {
    return this.#next?.get(step);
  }

  add(step: Step): TextNode {
    const added = new TextNode();
    this.#next ??= new Map();
    this.#next.set(step, added);
    return added;
  }
}

/** The texts that a tree keeps before it begins again. Clients may think of any number of shapes. */
const MAX_TEXTS = 200;

/** The statements whose text comes again with other values, by the steps that decide it. */
export class TextTree {
  #root = new TextNode();
  #kept = 0;

  /** The place where the steps of every statement begin. */
  get root(): TextNode {
    return this.#root;
  }

  /** Keeps a statement whose steps go on from a place by steps that nothing is known of. */
  keep(from: TextNode, steps: readonly Step[], statement: Statement): void {
    if (this.#kept === MAX_TEXTS) {
      this.#root = new TextNode();
      this.#kept = 0;
      return;
    }
    let node = from;
    for (const step of steps) node = node.add(step);
    node.statement = statement;
    this.#kept++;
  }
}

/** The texts of an entity's statements: those that clients shape do not push out the others. */
export class KnownTexts {
  readonly #ofClients = new TextTree();
  readonly #others = new TextTree();

  /** @param isShapedByClient true if clients choose the shape of the statement */
  treeOf(isShapedByClient: boolean): TextTree {
    return isShapedByClient ? this.#ofClients : this.#others;
  }
}
