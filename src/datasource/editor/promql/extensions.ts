import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, syntaxHighlighting } from '@codemirror/language';
import { type LintSource, linter } from '@codemirror/lint';
import { type Extension } from '@codemirror/state';
import {
  Decoration,
  EditorView,
  highlightSpecialChars,
  keymap,
  MatchDecorator,
  placeholder,
  tooltips,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import { type CompleteStrategy, PromQLExtension } from '@prometheus-io/codemirror-promql';

import { problemsIn } from './problems';

interface Options {
  complete: CompleteStrategy;
  placeholder: string;
  attributes: Record<string, string>;
  onLeave: () => void;
  onRun: () => void;
}

/** An editor of PromQL with macros: highlighting, completion, validation, undo. Tab leaves it, as in other fields. */
export function promqlExtensions(options: Options): Extension[] {
  const run = () => {
    options.onRun();
    return true;
  };
  return [
    keymap.of([
      { key: 'Mod-Enter', run },
      { key: 'Shift-Enter', run },
    ]),
    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
    new PromQLExtension()
      .setComplete({ completeStrategy: options.complete })
      .activateLinter(false) // it knows no macros
      .asExtension(),
    linter(problemsOf),
    syntaxHighlighting(classHighlighter),
    macroMarks,
    autocompletion({ icons: false }),
    closeBrackets(),
    bracketMatching(),
    history(),
    highlightSpecialChars(),
    EditorView.lineWrapping,
    tooltips({ position: 'fixed' }),
    placeholder(options.placeholder),
    EditorView.contentAttributes.of(options.attributes),
    EditorView.domEventHandlers({ blur: () => options.onLeave() }),
  ];
}

const problemsOf: LintSource = ({ state }) => problemsIn(state.doc.toString());

const macros = new MatchDecorator({
  regexp: /\$__\w+|\$\{__\w+(?::\w*)?\}/g,
  decoration: Decoration.mark({ class: 'warpwatch-macro' }),
});

const macroMarks = ViewPlugin.fromClass(
  class {
    marks;

    constructor(view: EditorView) {
      this.marks = macros.createDeco(view);
    }

    update(update: ViewUpdate) {
      this.marks = macros.updateDeco(update, this.marks);
    }
  },
  { decorations: ({ marks }) => marks }
);
