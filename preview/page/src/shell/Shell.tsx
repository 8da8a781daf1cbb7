import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { config, locationService } from '@grafana/runtime';
import { Combobox, EmptyState, Icon, LinkButton, ToolbarButton, useStyles2 } from '@grafana/ui';
import { type ReactNode } from 'react';
import { Navigate, useLocation } from 'react-router-dom';

/** A dashboard in the host's list. */
export interface SearchHit {
  uid: string;
  title: string;
  url: string;
}

/** The frame around every page: the banner, the way to the other dashboards, and the theme switch. */
export function Shell({ dashboards, children }: { dashboards: SearchHit[]; children: ReactNode }) {
  const styles = useStyles2(getStyles);
  const { pathname } = useLocation();
  return (
    <div className={styles.page}>
      <header className={styles.header}>
        <span className={styles.product}>Warpwatch</span>
        <Icon name="angle-right" />
        <Combobox
          aria-label="Dashboard"
          width={40}
          options={dashboards.map(({ uid, title }) => ({ value: uid, label: title }))}
          value={pathname.startsWith('/d/') ? (pathname.split('/')[2] ?? null) : null}
          placeholder="Choose a dashboard"
          onChange={({ value }) => locationService.push(`/d/${value}${themeQuery()}`)}
        />
        <div className={styles.banner} role="note" data-testid="preview-banner">
          Preview for demo and tests – not Grafana
        </div>
        {Object.keys(config.apps).map((id) => (
          <LinkButton key={id} size="sm" variant="secondary" fill="text" href={`/a/${id}${themeQuery()}`}>
            App
          </LinkButton>
        ))}
        <LinkButton size="sm" variant="secondary" fill="text" href={`/editors${themeQuery()}`}>
          Editors
        </LinkButton>
        <ToolbarButton
          icon="adjust-circle"
          aria-label={config.theme2.isDark ? 'Light theme' : 'Dark theme'}
          tooltip={config.theme2.isDark ? 'Light theme' : 'Dark theme'}
          onClick={switchTheme}
        />
      </header>
      <main className={styles.main}>{children}</main>
    </div>
  );
}

/** Leads to the first dashboard. */
export function Home({ dashboards }: { dashboards: SearchHit[] }) {
  return dashboards.length > 0 ? (
    <Navigate to={`/d/${dashboards[0].uid}${themeQuery()}`} replace />
  ) : (
    <EmptyState variant="not-found" message="There is no dashboard in the folder that the preview was started with." />
  );
}

const themeQuery = () => (config.theme2.isDark ? '' : '?theme=light');

/** Grafana's components read the theme once, so that the other one needs a reload. */
function switchTheme() {
  const url = new URL(window.location.href);
  url.searchParams.set('theme', config.theme2.isDark ? 'light' : 'dark');
  window.location.assign(url);
}

const getStyles = (theme: GrafanaTheme2) => ({
  page: css({
    display: 'flex',
    flexDirection: 'column',
    minHeight: '100vh',
    background: theme.colors.background.canvas,
  }),
  header: css({
    position: 'sticky',
    top: 0,
    zIndex: theme.zIndex.navbarFixed,
    display: 'flex',
    alignItems: 'center',
    gap: theme.spacing(1),
    padding: theme.spacing(0.5, 2),
    background: theme.colors.background.primary,
    borderBottom: `1px solid ${theme.colors.border.weak}`,
  }),
  product: css({ fontWeight: theme.typography.fontWeightMedium }),
  banner: css({
    marginLeft: 'auto',
    padding: theme.spacing(0.25, 1),
    borderRadius: theme.shape.radius.pill,
    border: `1px solid ${theme.colors.warning.border}`,
    color: theme.colors.warning.text,
    fontSize: theme.typography.bodySmall.fontSize,
    whiteSpace: 'nowrap',
  }),
  main: css({ flexGrow: 1, display: 'flex', flexDirection: 'column', padding: theme.spacing(2) }),
});
