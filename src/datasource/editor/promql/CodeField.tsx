import { css } from '@emotion/css';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { type GrafanaTheme2 } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';
import { type CompleteStrategy } from '@prometheus-io/codemirror-promql';
import React, { useEffect, useRef } from 'react';

import { promqlExtensions } from './extensions';

interface Props {
  id: string;
  label: string;
  describedBy: string;
  value: string;
  placeholder: string;
  complete: CompleteStrategy;
  /** The text, when the field is left or run. */
  onCommit: (text: string) => void;
  /** Ctrl+Enter or Shift+Enter on a text that is committed already. */
  onRun: () => void;
}

/** Edits PromQL. The text counts when the field is left or run, so that no half-typed one is asked for. */
export function CodeField({ id, label, describedBy, value, placeholder, complete, onCommit, onRun }: Props) {
  const styles = useStyles2(getStyles);
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>();
  const now = useRef({ value, onCommit, onRun });
  useEffect(() => {
    now.current = { value, onCommit, onRun };
  });

  useEffect(() => {
    const commit = () => {
      const text = editor.state.doc.toString();
      if (text === now.current.value) {
        return false;
      }
      now.current.onCommit(text);
      return true;
    };
    const editor = new EditorView({
      parent: parent.current ?? undefined,
      state: EditorState.create({
        doc: now.current.value,
        extensions: promqlExtensions({
          complete,
          placeholder,
          attributes: { id, 'aria-label': label, 'aria-describedby': describedBy, spellcheck: 'false' },
          onLeave: commit,
          onRun: () => commit() || now.current.onRun(),
        }),
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [id, label, describedBy, placeholder, complete]);

  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== value) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
    }
  }, [value]);

  return <div ref={parent} className={styles.field} />;
}

const getStyles = (theme: GrafanaTheme2) => {
  const { colors, shape, spacing, typography, visualization } = theme;
  const purple = visualization.getColorByName(theme.isDark ? 'light-purple' : 'dark-purple');
  return {
    field: css({
      '.cm-editor': {
        minHeight: spacing(8),
        border: `1px solid ${theme.components.input.borderColor}`,
        borderRadius: shape.radius.default,
        background: theme.components.input.background,
        color: colors.text.primary,
        fontSize: typography.code.fontSize,
      },
      '.cm-editor.cm-focused': { outline: `2px solid ${colors.primary.main}`, outlineOffset: 1 },
      '.cm-scroller': { fontFamily: typography.fontFamilyMonospace, maxHeight: '40vh', overflow: 'auto' },
      '.cm-content': { padding: spacing(0.75, 0.5), caretColor: colors.text.primary },
      '.cm-cursor': { borderLeftColor: colors.text.primary },
      '.cm-placeholder': { color: colors.text.disabled },
      '.cm-matchingBracket, .cm-focused .cm-matchingBracket': {
        background: colors.action.selected,
        outline: `1px solid ${colors.border.medium}`,
      },
      '.tok-keyword, .tok-operatorKeyword, .tok-modifier': { color: purple },
      '.tok-variableName, .tok-variableName2, .tok-function': { color: colors.primary.text },
      '.tok-string, .tok-string2': { color: colors.success.text },
      '.tok-number, .tok-literal': { color: colors.warning.text },
      '.tok-labelName, .tok-propertyName': { color: colors.text.secondary },
      '.tok-comment': { color: colors.text.secondary, fontStyle: 'italic' },
      '.warpwatch-macro, .warpwatch-macro span': {
        color: colors.warning.text,
        fontWeight: typography.fontWeightMedium,
      },
      '.cm-tooltip': {
        border: `1px solid ${colors.border.medium}`,
        borderRadius: shape.radius.default,
        background: colors.background.elevated,
        color: colors.text.primary,
        boxShadow: theme.shadows.z3,
        zIndex: theme.zIndex.portal,
      },
      '.cm-tooltip.cm-tooltip-autocomplete > ul': {
        fontFamily: typography.fontFamilyMonospace,
        fontSize: typography.code.fontSize,
      },
      '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
        background: colors.action.selected,
        color: colors.text.primary,
      },
      '.cm-completionMatchedText': { color: colors.primary.text, textDecoration: 'none' },
      '.cm-completionDetail': { color: colors.text.secondary },
      '.cm-completionInfo': { maxWidth: spacing(50), padding: spacing(1), color: colors.text.secondary },
      '.cm-diagnostic': { padding: spacing(0.5, 1), borderLeftColor: colors.error.main },
    }),
  };
};
