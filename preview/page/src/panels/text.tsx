import { PanelPlugin, type PanelProps, renderTextPanelMarkdown, textUtil } from '@grafana/data';
import { ScrollContainer } from '@grafana/ui';

interface Options {
  mode?: 'markdown' | 'html' | 'code';
  content?: string;
}

function TextPanel({ options, replaceVariables }: PanelProps<Options>) {
  const content = replaceVariables(options.content ?? '', {}, options.mode === 'code' ? undefined : 'html');
  if (options.mode === 'code') {
    return <pre>{content}</pre>;
  }
  const html = options.mode === 'html' ? textUtil.sanitizeTextPanelContent(content) : renderTextPanelMarkdown(content);
  return (
    <ScrollContainer>
      <div className="markdown-html" dangerouslySetInnerHTML={{ __html: html }} />
    </ScrollContainer>
  );
}

export const text = new PanelPlugin<Options>(TextPanel);
