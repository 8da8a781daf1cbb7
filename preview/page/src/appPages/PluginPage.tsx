import { css } from '@emotion/css';
import { type GrafanaTheme2, type NavModelItem } from '@grafana/data';
import { config, type PluginPageProps } from '@grafana/runtime';
import { Tab, TabsBar, useStyles2 } from '@grafana/ui';
import { useEffect } from 'react';
import { useLocation } from 'react-router-dom';
import { useAsync } from 'react-use';

import { metaOf } from './meta';

interface MenuItem {
  text: string;
  url: string;
}

/** The frame that Grafana gives the pages of an app: the app's menu, the path to the page, its title and its actions. */
export function PluginPage({ pageNav, subTitle, actions, info, renderTitle, children }: PluginPageProps) {
  const styles = useStyles2(getStyles);
  const { pathname } = useLocation();
  const menu = useMenu(pathname.split('/')[2]);
  const active = activeOf(menu, pathname);
  const title = pageNav?.text ?? active?.text ?? 'Warpwatch';
  useEffect(() => {
    document.title = `${title} - Warpwatch preview`;
  }, [title]);
  return (
    <div className={styles.page}>
      <TabsBar className={styles.menu}>
        {menu.map((item) => (
          <Tab key={item.url} label={item.text} href={withTheme(item.url)} active={item === active} />
        ))}
      </TabsBar>
      {pageNav?.parentItem && (
        <nav aria-label="Breadcrumbs">
          <Path item={pageNav.parentItem} />
        </nav>
      )}
      <div className={styles.head}>
        <div className={styles.title}>{renderTitle ? renderTitle(title) : <h1>{title}</h1>}</div>
        {info?.map(({ label, value }) => (
          <div key={label}>
            {label}: {value}
          </div>
        ))}
        {actions}
      </div>
      {(subTitle ?? pageNav?.subTitle) && <div className={styles.subTitle}>{subTitle ?? pageNav?.subTitle}</div>}
      {pageNav?.children && (
        <TabsBar>
          {pageNav.children.map(({ text, url = '', active: open, icon }) => (
            <Tab key={text} label={text} href={withTheme(url)} active={open} icon={icon} />
          ))}
        </TabsBar>
      )}
      <div className={styles.content}>{children}</div>
    </div>
  );
}

/** The pages above, from the first. */
function Path({ item }: { item: NavModelItem }) {
  return (
    <>
      {item.parentItem && <Path item={item.parentItem} />}
      <a href={withTheme(item.url ?? '')}>{item.text}</a> /{' '}
    </>
  );
}

function useMenu(id: string): MenuItem[] {
  const { value } = useAsync(async () => {
    const { includes = [] } = await metaOf(id);
    return includes
      .filter(({ type, addToNav, path }) => type === 'page' && addToNav && path?.startsWith('/a/'))
      .map(({ name, path = '' }) => ({ text: name, url: path }));
  }, [id]);
  return value ?? [];
}

/** The menu's item that a page is at or below; the landing page is above all others. */
function activeOf(menu: MenuItem[], pathname: string): MenuItem | undefined {
  const above = menu.filter(({ url }) => pathname === url || pathname.startsWith(`${url}/`));
  return above.sort((a, b) => b.url.length - a.url.length)[0];
}

/** An address that is loaded anew keeps the theme. */
function withTheme(url: string): string {
  if (config.theme2.isDark || url === '') {
    return url;
  }
  return `${url}${url.includes('?') ? '&' : '?'}theme=light`;
}

const getStyles = (theme: GrafanaTheme2) => ({
  page: css({ display: 'flex', flexDirection: 'column', flexGrow: 1 }),
  menu: css({ marginBottom: theme.spacing(2), '@media print': { display: 'none' } }),
  head: css({ display: 'flex', alignItems: 'center', gap: theme.spacing(2) }),
  title: css({ flexGrow: 1, h1: { margin: 0 } }),
  subTitle: css({ color: theme.colors.text.secondary, marginBottom: theme.spacing(1) }),
  content: css({ paddingTop: theme.spacing(1), flexGrow: 1 }),
});
