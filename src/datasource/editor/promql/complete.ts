import { type Completion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { type CompleteStrategy, newCompleteStrategy, type PrometheusClient } from '@prometheus-io/codemirror-promql';

import { MACROS } from './macros';

const VARIABLE = /\$\{?\w*/;

/** Completes macros and the dashboard's variables after a dollar, and PromQL everywhere else. */
export class Completing implements CompleteStrategy {
  private readonly promql: CompleteStrategy;

  /** `variables` are written as in queries, with the dollar. */
  constructor(
    client: PrometheusClient,
    private readonly variables: () => string[]
  ) {
    this.promql = newCompleteStrategy({ remote: client });
  }

  promQL(context: CompletionContext): Promise<CompletionResult | null> | CompletionResult | null {
    const dollar = context.matchBefore(VARIABLE);
    return dollar
      ? { from: dollar.from, options: this.afterDollar(), validFor: /^\$\{?\w*$/ }
      : this.promql.promQL(context);
  }

  private afterDollar(): Completion[] {
    const macros = MACROS.map(({ name, meaning }) => ({ label: name, type: 'keyword', info: meaning }));
    const variables = this.variables().map((label) => ({ label, type: 'variable', detail: 'variable' }));
    return [...macros, ...variables];
  }
}
