/**
 * Starts the page. @grafana/runtime reads window.grafanaBootData when it is first imported, so the settings are fetched
 * before anything else is loaded.
 */
async function boot() {
  const theme = new URLSearchParams(window.location.search).get('theme') === 'light' ? 'light' : 'dark';
  const response = await fetch('/api/frontend/settings');
  if (!response.ok) {
    throw new Error(`The preview's settings could not be read: ${response.status} ${await response.text()}`);
  }
  Object.assign(window, {
    __grafana_public_path__: '/public/',
    grafanaBootData: {
      settings: await response.json(),
      user: { theme, timezone: 'browser', orgId: 1, orgRole: 'Admin', isSignedIn: true, regionalFormat: 'en-US' },
      assets: { dark: '', light: '' },
      navTree: [],
    },
  });
  const { start } = await import('./app');
  await start();
}

boot().catch((error: unknown) => {
  console.error(error);
  document.body.textContent = error instanceof Error ? error.message : String(error);
});
