import { FieldType, type PanelData, type QueryResultMetaNotice } from '@grafana/data';
import { sceneGraph, type SceneComponentProps, SceneObjectBase } from '@grafana/scenes';
import { Icon, PanelChrome, Tooltip } from '@grafana/ui';

const icons = { info: 'info-circle', warning: 'exclamation-triangle', error: 'exclamation-triangle' } as const;

/**
 * The notices of a panel's frames, each severity an icon in the panel's header, as Grafana shows them; and, for tests, what
 * the panel was given, which a canvas does not tell.
 */
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
        {data && <DataSummary data={data} />}
      </>
    );
  };
}

function DataSummary({ data: { state, series, errors = [] } }: { data: PanelData }) {
  const fields = series.flatMap((frame) => frame.fields);
  const times = fields.filter(({ type }) => type === FieldType.time).flatMap(({ values }) => values.slice(-1));
  const values = fields.filter(({ type }) => type !== FieldType.time);
  const summary = {
    state,
    rows: series.reduce((sum, { length }) => sum + length, 0),
    series: values.map((field) => ({
      name: field.name,
      labels: field.labels ?? {},
      empty: !field.values.some((value) => value !== null && value !== undefined),
    })),
    lastTime: times.length > 0 ? Math.max(...times) : null,
    errors: errors.map(({ message }) => message),
  };
  return <span hidden data-testid="panel-data" data-summary={JSON.stringify(summary)} />;
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
