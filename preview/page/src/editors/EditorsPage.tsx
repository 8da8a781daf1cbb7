import { css } from '@emotion/css';
import {
  CoreApp,
  type DataQuery,
  type DataSourceApi,
  type DataSourceSettings,
  getDefaultTimeRange,
  type GrafanaTheme2,
  LoadingState,
  type PanelData,
} from '@grafana/data';
import { config, getBackendSrv, getDataSourceSrv, getRunRequest } from '@grafana/runtime';
import { Alert, Combobox, ErrorBoundaryAlert, LoadingPlaceholder, useStyles2 } from '@grafana/ui';
import { type ReactNode, useCallback, useRef, useState } from 'react';
import { useAsync } from 'react-use';
import { takeWhile, type Unsubscribable } from 'rxjs';

import { messageOf } from '../dashboard/DashboardPage';
import { loadDataSourcePlugin } from '../services/dataSourceSrv';

/** The plugin's editors against a provisioned data source; nothing can be saved. */
export function EditorsPage() {
  const [name, setName] = useState(config.defaultDatasource);
  const { value, error } = useAsync(async () => {
    const instance = await getDataSourceSrv().get(name);
    const plugin = await loadDataSourcePlugin(config.datasources[name]);
    const settings = await getBackendSrv().get<DataSourceSettings>(`/api/datasources/uid/${instance.uid}`);
    return { instance, settings, components: plugin.components };
  }, [name]);
  if (error) {
    return <Alert title="The editors could not be shown">{messageOf(error)}</Alert>;
  }
  if (!value) {
    return <LoadingPlaceholder text="Loading the plugin…" />;
  }
  const { ConfigEditor, QueryEditor } = value.components;
  return (
    <>
      <Combobox
        aria-label="Data source"
        width={40}
        options={Object.keys(config.datasources).map((option) => ({ value: option }))}
        value={name}
        onChange={(option) => setName(option.value)}
      />
      {QueryEditor && (
        <Section title="Query">
          <QueryEditors key={name} instance={value.instance} QueryEditor={QueryEditor} />
        </Section>
      )}
      {ConfigEditor && (
        <Section title="Settings">
          <Settings key={name} initial={value.settings} ConfigEditor={ConfigEditor} />
        </Section>
      )}
    </>
  );
}

function Settings({ initial, ConfigEditor }: { initial: DataSourceSettings; ConfigEditor: React.ComponentType<any> }) {
  const [options, setOptions] = useState({ ...initial, readOnly: false });
  return <ConfigEditor options={options} onOptionsChange={setOptions} />;
}

function QueryEditors({ instance, QueryEditor }: { instance: DataSourceApi; QueryEditor: React.ComponentType<any> }) {
  const [query, setQuery] = useState<DataQuery>({
    refId: 'A',
    datasource: instance.getRef(),
    ...(queryOfAddress() ?? instance.getDefaultQuery?.(CoreApp.Dashboard)),
  });
  const [data, setData] = useState<PanelData>();
  // Editors change the query and run it in one go, before the page is drawn again.
  const latest = useRef(query);
  const running = useRef<Unsubscribable>();
  const change = (next: DataQuery) => {
    latest.current = next;
    setQuery(next);
  };
  const run = useCallback(() => {
    const range = getDefaultTimeRange();
    const request = {
      app: CoreApp.Dashboard,
      requestId: 'editor',
      timezone: 'browser',
      range,
      rangeRaw: range.raw,
      interval: '30s',
      intervalMs: 30_000,
      maxDataPoints: 500,
      targets: [latest.current],
      scopedVars: {},
      startTime: Date.now(),
    };
    running.current?.unsubscribe();
    running.current = getRunRequest()(instance, request)
      .pipe(takeWhile(({ state }) => state === LoadingState.Loading, true))
      .subscribe(setData);
  }, [instance]);
  const rows = data?.series.reduce((sum, { length }) => sum + length, 0);
  return (
    <>
      <QueryEditor
        datasource={instance}
        query={query}
        queries={[query]}
        app={CoreApp.Dashboard}
        data={data}
        range={getDefaultTimeRange()}
        onChange={change}
        onRunQuery={run}
      />
      {data && (
        <p data-testid="editor-answer">
          {data.errors?.map(({ message }) => message).join(' ') ?? `${data.series.length} frames, ${rows} rows`}
        </p>
      )}
    </>
  );
}

/** The query that the address names as JSON, for tests. */
function queryOfAddress(): Partial<DataQuery> | undefined {
  const text = new URLSearchParams(window.location.search).get('query');
  return text ? JSON.parse(text) : undefined;
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  const styles = useStyles2(getStyles);
  return (
    <section className={styles.section} aria-label={title}>
      <h3>{title}</h3>
      <ErrorBoundaryAlert>{children}</ErrorBoundaryAlert>
    </section>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  section: css({
    marginTop: theme.spacing(2),
    padding: theme.spacing(2),
    background: theme.colors.background.primary,
    border: `1px solid ${theme.colors.border.weak}`,
    borderRadius: theme.shape.radius.default,
  }),
});
