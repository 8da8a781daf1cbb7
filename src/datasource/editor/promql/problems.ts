import { ensureSyntaxTree } from '@codemirror/language';
import { type Diagnostic } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { type EditorView } from '@codemirror/view';
import { LanguageType, PromQLExtension, promQLLanguage } from '@prometheus-io/codemirror-promql';

import { withStandIns } from './standIns';

/** How long an expression is parsed at most; what takes longer is the backend's to judge. */
const MOST_MS = 1000;

/** What is wrong with an expression, at its places in the text. Nothing where variables hide what is meant. */
export function problemsIn(expression: string): readonly Diagnostic[] {
  const text = withStandIns(expression);
  if (text === undefined || text.trim() === '') {
    return [];
  }
  const created = EditorState.create({ doc: text, extensions: promQLLanguage(LanguageType.PromQL) });
  if (!ensureSyntaxTree(created, created.doc.length, MOST_MS)) {
    return [];
  }
  const { state } = created.update({}); // has the whole tree: at first there is what a few milliseconds are enough for
  // Prometheus' strategy is made for views, of which it reads the state alone.
  const found = new PromQLExtension().getLinter().promQL()({ state } as EditorView);
  return Array.isArray(found) ? found : [];
}
