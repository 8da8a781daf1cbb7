import { LoadingState, type QueryResultMetaNotice } from '@grafana/data';
import { sceneGraph, type SceneComponentProps, SceneObjectBase } from '@grafana/scenes';
import { Icon, PanelChrome, Tooltip } from '@grafana/ui';

const icons = { info: 'info-circle', warning: 'exclamation-triangle', error: 'exclamation-triangle' } as const;

/** The notices of a panel's frames, each severity an icon in the panel's header, as Grafana shows them. */
export class PanelNotices extends SceneObjectBase {
  static Component = ({ model }: SceneComponentProps<PanelNotices>) => {
    const { data } = sceneGraph.getData(model).useState();
    const notices = (data?.series ?? []).flatMap((frame) => frame.meta?.notices ?? []);
    return (
      <>
        {(['error', 'warning', 'info'] as const).map((severity) => (
          <NoticeIcon
            key={severity}
            severity={severity}
            notices={notices.filter((notice) => notice.severity === severity)}
          />
        ))}
        {data?.state === LoadingState.Streaming && <span data-testid="panel-streaming" />}
      </>
    );
  };
}

function NoticeIcon({
  severity,
  notices,
}: {
  severity: QueryResultMetaNotice['severity'];
  notices: QueryResultMetaNotice[];
}) {
  const texts = [...new Set(notices.map(({ text }) => text))];
  if (texts.length === 0) {
    return null;
  }
  const content = (
    <div>
      {texts.map((text) => (
        <div key={text}>{text}</div>
      ))}
    </div>
  );
  return (
    <Tooltip content={content} interactive>
      <PanelChrome.TitleItem data-testid={`panel-notice-${severity}`} aria-label={texts.join('\n')}>
        <Icon name={icons[severity]} size="md" />
      </PanelChrome.TitleItem>
    </Tooltip>
  );
}
