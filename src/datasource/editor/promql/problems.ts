import { type Diagnostic } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { type EditorView } from '@codemirror/view';
import { LanguageType, PromQLExtension, promQLLanguage } from '@prometheus-io/codemirror-promql';

import { withStandIns } from './standIns';

/** What is wrong with an expression, at its places in the text. Nothing where variables hide what is meant. */
export function problemsIn(expression: string): readonly Diagnostic[] {
  const text = withStandIns(expression);
  if (text === undefined || text.trim() === '') {
    return [];
  }
  const state = EditorState.create({ doc: text, extensions: promQLLanguage(LanguageType.PromQL) });
  // Prometheus' strategy is made for views, of which it reads the state alone.
  const found = new PromQLExtension().getLinter().promQL()({ state } as EditorView);
  return Array.isArray(found) ? found : [];
}
