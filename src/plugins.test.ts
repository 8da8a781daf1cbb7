import { existsSync, readdirSync, readFileSync } from 'fs';
import path from 'path';

import { APP_ID, DATA_SOURCE_ID, PANEL_ID } from './shared/ids';

const read = (...parts: string[]) => JSON.parse(readFileSync(path.join(__dirname, ...parts), 'utf8'));

const app = read('plugin.json');
const dataSource = read('datasource', 'plugin.json');
const panel = read('panel', 'plugin.json');
const dashboards: Array<{ path: string; uid: string; name: string }> = app.includes.filter(
  ({ type }: { type: string }) => type === 'dashboard'
);

test('ids are those that the code uses', () => {
  expect(app.id).toBe(APP_ID);
  expect(dataSource.id).toBe(DATA_SOURCE_ID);
  expect(panel.id).toBe(PANEL_ID);
});

test('nested plugins ask for the same Grafana and are included by their path', () => {
  expect(dataSource.dependencies.grafanaDependency).toBe(app.dependencies.grafanaDependency);
  expect(panel.dependencies.grafanaDependency).toBe(app.dependencies.grafanaDependency);
  expect(app.includes).toContainEqual(expect.objectContaining({ type: 'datasource', path: 'datasource/plugin.json' }));
  expect(app.includes).toContainEqual(expect.objectContaining({ type: 'panel', path: 'panel/plugin.json' }));
});

test('logos exist', () => {
  for (const [plugin, folder] of [
    [app, '.'],
    [dataSource, 'datasource'],
    [panel, 'panel'],
  ]) {
    Object.values<string>(plugin.info.logos).forEach((logo) => {
      expect(existsSync(path.join(__dirname, folder, logo))).toBe(true);
    });
  }
});

test('every bundled dashboard is included by the uid and title that it has', () => {
  const folder = path.join(__dirname, '..', 'dashboards');
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  expect(dashboards.map(({ path: at }) => path.basename(at)).sort()).toEqual(files.sort());
  for (const { path: at, uid, name } of dashboards) {
    const dashboard = JSON.parse(readFileSync(path.join(folder, path.basename(at)), 'utf8'));
    expect({ uid: dashboard.uid, name: dashboard.title }).toEqual({ uid, name });
  }
});
