import type { Statement } from './dialects/reader.ts';

/** How many statements are kept, and how many steps lead to them all in all. */
const MAX_STATEMENTS = 500;
const MAX_STEPS = 20_000;

/** A place in the tree of forms: what has been said of a statement so far. */
export class Form {
  /** The statement of the form that ends here. */
  statement: Statement | undefined;
  readonly #cache: StatementCache;
  #next: Map<unknown, Form> | undefined;

  constructor(cache: StatementCache) {
    this.#cache = cache;
  }

  /** The form with one thing more said: a word, a number, a path, an object that stands for itself. */
  step(what: unknown): Form {
    const known = this.#next?.get(what);
    if (known !== undefined) return known;
    const form = new Form(this.#cache);
    this.#cache.countStep();
    (this.#next ??= new Map<unknown, Form>()).set(what, form);
    return form;
  }
}

/**
 * Statements by their form: by everything that decides the text, in the order in which the text is made, as a tree. To
 * find one is a few look-ups of things that are at hand; no key is put together. What is kept is bounded: where it becomes
 * too much, all is forgotten, and the forms in use are soon known again.
 */
export class StatementCache {
  #root = new Form(this);
  #statements = 0;
  #steps = 0;

  /** Where every form begins. */
  get root(): Form {
    return this.#root;
  }

  get size(): number {
    return this.#statements;
  }

  keep(form: Form, statement: Statement): void {
    form.statement = statement;
    this.#statements += 1;
    if (this.#statements < MAX_STATEMENTS && this.#steps < MAX_STEPS) return;
    this.#root = new Form(this);
    this.#statements = 0;
    this.#steps = 0;
  }

  /** @internal */
  countStep(): void {
    this.#steps += 1;
  }
}
