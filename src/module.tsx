// CAUTION: what this file imports is loaded with every page of Grafana that shows the app's menu entry.
import { AppPlugin } from '@grafana/data';

import { App } from './pages/App';
import { ConfigurationTab } from './pages/ConfigurationTab';

export const plugin = new AppPlugin<{}>().setRootPage(App).addConfigPage({
  title: 'Configuration',
  icon: 'cog',
  body: ConfigurationTab,
  id: 'configuration',
});
