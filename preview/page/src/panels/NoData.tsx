import { css } from '@emotion/css';
import { type GrafanaTheme2, LoadingState, type PanelData } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';

/** Fills a panel that has nothing to show, unless it is still loading. */
export function NoData({ data, text }: { data: PanelData; text?: string }) {
  const styles = useStyles2(getStyles);
  return data.state === LoadingState.Loading ? null : (
    <div className={styles.empty} data-testid="panel-no-data">
      {text || 'No data'}
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  empty: css({
    display: 'flex',
    alignItems: 'center',
    justifyContent: 'center',
    width: '100%',
    height: '100%',
    color: theme.colors.text.secondary,
    fontSize: theme.typography.h4.fontSize,
  }),
});
