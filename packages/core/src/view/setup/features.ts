import { requireSync } from '../../support/awaitable.ts';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import {
  BOOLEAN,
  checkOptionNames,
  checkOptions,
  checkValues,
  describe,
  FUNCTION,
  LIST,
  NAMES,
  type OptionRule,
  requireOptions,
  TEXT,
  wrongOption,
} from '../../errors/options.ts';
import { PLAIN_FORMAT, type RecordFormat } from '../output/record-format.ts';
import type { Feature, FeatureParts, FeatureView } from './feature.ts';

/** An option whose feature a plugin brings. */
export interface PluggedOption {
  readonly option: string;
  readonly rule: OptionRule;
  /** What the plugin does, and where to register it, for the error of a view with the option. */
  readonly needs: string;
}

const FEATURE_RULES = {
  option: TEXT,
  rule: ['[the expected value in words, a function that tests a value]', isRule],
  always: BOOLEAN,
  format: FUNCTION,
  resolve: FUNCTION,
} as const satisfies Readonly<Record<keyof Feature, OptionRule>>;

const OBJECT: OptionRule = ['an object', (value) => typeof value === 'object' && value !== null];

const PART_RULES: Readonly<Record<keyof FeatureParts, OptionRule>> = {
  narrow: FUNCTION,
  actions: ['a Map of actions by name', (value) => value instanceof Map],
  around: NAMES,
  parameters: NAMES,
  listeners: NAMES,
  deletion: OBJECT,
  several: NAMES,
  refusals: OBJECT,
  writeCondition: OBJECT,
  extend: FUNCTION,
  routes: FUNCTION,
  representations: LIST,
  recorder: FUNCTION,
  findViews: FUNCTION,
};

/** The features of an application, by option. */
export class Features {
  /** The options of views that no feature has. */
  readonly #others: readonly string[];
  readonly #byOption: Map<string, Feature | PluggedOption>;

  constructor(others: readonly string[], builtIn: readonly (Feature | PluggedOption)[]) {
    this.#others = others;
    this.#byOption = new Map(builtIn.map((feature) => [feature.option, feature]));
  }

  /**
   * Adds a feature. The same one may be added again.
   *
   * @throws ImproperlyConfigured for something else than a feature, and if another feature or the library has the option
   */
  readonly add = <Value>(feature: Feature<Value>): void => {
    requireOptions('feature', feature);
    const owner = `feature ${describe(feature.option)}`;
    checkOptions(owner, feature, FEATURE_RULES);
    for (const [name, [expected]] of Object.entries(FEATURE_RULES)) {
      // A missing one is undefined, which the check accepts.
      const isMissing =
        (name === 'option' || name === 'rule' || name === 'resolve') && feature[name as keyof Feature] === undefined;
      if (isMissing) throw wrongOption(owner, name, expected, undefined);
    }
    const { option } = feature;
    const present = this.#byOption.get(option);
    if (present === feature) return;
    if (this.#others.includes(option) || (present !== undefined && !('needs' in present))) {
      throw new ImproperlyConfigured(`${owner}: views have an option of this name already`);
    }
    this.#byOption.set(option, feature);
  };

  /** @throws ImproperlyConfigured for an unknown option of a view, and for a value that does not fit its feature */
  check(owner: string, options: object): void {
    checkOptionNames(owner, options, [...this.#others, ...this.#byOption.keys()]);
    checkValues(owner, options, Object.fromEntries(this.rules));
  }

  /** Lists the options with their rules. */
  get rules(): ReadonlyMap<string, OptionRule> {
    return new Map([...this.#byOption].map(([option, { rule }]) => [option, rule]));
  }

  /** Returns the format of a view's bodies and responses: that of its options, else that of its router. */
  formatOf({ name, options, defaults }: Pick<FeatureView, 'name' | 'options' | 'defaults'>): RecordFormat {
    for (const feature of this.#byOption.values()) {
      const value = options[feature.option];
      const format = 'needs' in feature ? undefined : feature.format;
      if (value !== undefined && format !== undefined) return format(name, value as never);
    }
    return defaults.format ?? PLAIN_FORMAT;
  }

  /** Resolves the features whose options a view has, in the order in which they were added. */
  resolve(view: FeatureView): readonly (FeatureParts & { readonly option: string })[] {
    return [...this.#byOption.values()].flatMap((feature) => {
      const { option } = feature;
      const value = view.options[option];
      if (value === undefined && !('always' in feature && feature.always)) return [];
      if (!('needs' in feature)) return [{ ...partsOf(feature, view, value), option }];
      if (value === false || (Array.isArray(value) && value.length === 0)) return [];
      throw new ImproperlyConfigured(`${view.name}: option "${option}" needs a plugin that ${feature.needs}`);
    });
  }
}

function partsOf(feature: Feature, view: FeatureView, value: unknown): FeatureParts {
  const owner = `${view.name}: feature "${feature.option}"`;
  const parts = requireSync(feature.resolve(view, value as never), () => `${owner}: resolve()`);
  checkOptions(owner, parts, PART_RULES);
  return parts;
}

function isRule(value: unknown): boolean {
  return Array.isArray(value) && TEXT[1](value[0]) && FUNCTION[1](value[1]);
}

/** The rule of the plugin's option `features`. */
export const FEATURES_RULE: OptionRule = ['a list of features', Array.isArray, ['a feature', NAMES[1]]];
