import type { Statement } from './dialects/reader.ts';

/** A part of what decides the text of a statement: an object with a fixed identity, such as a path, or a text. */
export type Step = object | string;

/** A node in a tree of statement texts. All statements below it begin with the same steps. */
export class TextNode {
  /** The statement whose steps end here. */
  statement: Statement | undefined = undefined;
  /** The first known step from here, and its node. Most nodes have only one, and need no map. */
  #firstStep: Step | undefined;
  #first: TextNode | undefined;
  #others: Map<Step, TextNode> | undefined;

  next(step: Step): TextNode | undefined {
    return step === this.#firstStep ? this.#first : this.#others?.get(step);
  }

  add(step: Step): TextNode {
    const added = new TextNode();
    if (this.#first === undefined) {
      this.#firstStep = step;
      this.#first = added;
    } else {
      this.#others ??= new Map();
      this.#others.set(step, added);
    }
    return added;
  }
}

/**
 * The most texts and steps in a tree. At a limit the tree is emptied, because clients may choose any number of shapes.
 */
const MAX_TEXTS = 200;
const MAX_STEPS = 10_000;

/** The statements that repeat with other values, by the steps that decide their text. */
export class TextTree {
  #root = new TextNode();
  #texts = 0;
  #steps = 0;

  /** The node where all statements begin. */
  get root(): TextNode {
    return this.#root;
  }

  /**
   * Adds a statement below a node, by steps that the tree does not have yet. At a limit it empties the tree instead.
   */
  keep(from: TextNode, steps: readonly Step[], statement: Statement): void {
    if (this.#texts === MAX_TEXTS || this.#steps + steps.length > MAX_STEPS) {
      this.#root = new TextNode();
      this.#texts = 0;
      this.#steps = 0;
      return;
    }
    let node = from;
    for (const step of steps) node = node.add(step);
    node.statement = statement;
    this.#texts++;
    this.#steps += steps.length;
  }
}

/** The texts of an entity's statements. Texts that clients shape do not displace the others. */
export class KnownTexts {
  readonly #ofClients = new TextTree();
  readonly #others = new TextTree();

  /** @param isShapedByClient true if clients choose the shape of the statement */
  treeOf(isShapedByClient: boolean): TextTree {
    return isShapedByClient ? this.#ofClients : this.#others;
  }
}
