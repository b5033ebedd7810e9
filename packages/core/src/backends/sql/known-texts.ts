import type { Statement } from './dialects/reader.ts';

/** Something that decides the text of a statement: an object that is the same each time, such as a path, or a piece of text. */
export type Step = object | string;

/** A place in a tree of texts: what all statements have in common that begin with the same steps. */
export class TextNode {
  /** The statement whose steps end here. */
  statement: Statement | undefined = undefined;
  /** The first step that has gone on from here, and where it leads. Most places have no other one, and so no map. */
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

/** The texts that a tree keeps, and the steps that lead to them, before it begins again. Clients may think of any number of shapes. */
const MAX_TEXTS = 200;
const MAX_STEPS = 10_000;

/** The statements whose text comes again with other values, by the steps that decide it. */
export class TextTree {
  #root = new TextNode();
  #texts = 0;
  #steps = 0;

  /** The place where the steps of every statement begin. */
  get root(): TextNode {
    return this.#root;
  }

  /** Keeps a statement whose steps go on from a place by steps that nothing is known of. */
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

/** The texts of an entity's statements: those that clients shape do not push out the others. */
export class KnownTexts {
  readonly #ofClients = new TextTree();
  readonly #others = new TextTree();

  /** @param isShapedByClient true if clients choose the shape of the statement */
  treeOf(isShapedByClient: boolean): TextTree {
    return isShapedByClient ? this.#ofClients : this.#others;
  }
}
