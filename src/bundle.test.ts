import { existsSync, readFileSync, statSync } from 'fs';
import path from 'path';

/** Sources that every page of Grafana loads where the app has a menu; the build makes them a third of this. */
const MOST_BYTES = 20_000;

/** Packages that Grafana shares with plugins, and the one that the routes are written in. */
const SHARED = /^(@grafana\/(data|runtime|ui)|react|rxjs|@emotion\/css|react-router-dom)$/;

const STATIC_IMPORT = /^import\s+(?!type\b)(?:[^'"()]*?from\s+)?['"]([^'"]+)['"]/gm;

/** Everything that a module needs before it can run, and not only when a page is visited. */
function loadedWith(file: string, seen = new Set<string>()): { files: Set<string>; packages: Set<string> } {
  const packages = new Set<string>();
  seen.add(file);
  for (const [, name] of readFileSync(file, 'utf8').matchAll(STATIC_IMPORT)) {
    if (!name.startsWith('.')) {
      packages.add(name);
      continue;
    }
    const found = resolve(path.join(path.dirname(file), name));
    if (!seen.has(found)) {
      loadedWith(found, seen).packages.forEach((one) => packages.add(one));
    }
  }
  return { files: seen, packages };
}

function resolve(base: string): string {
  const found = ['', '.ts', '.tsx']
    .map((ending) => base + ending)
    .find((file) => existsSync(file) && statSync(file).isFile());
  if (!found) {
    throw new Error(`${base} is imported and is not there`);
  }
  return found;
}

test('the app’s entry is small and bundles no library: pages come when they are visited', () => {
  const { files, packages } = loadedWith(path.join(__dirname, 'module.tsx'));
  expect([...packages].filter((name) => !SHARED.test(name))).toEqual([]);
  const bytes = [...files].reduce((sum, file) => sum + statSync(file).size, 0);
  expect(bytes).toBeLessThan(MOST_BYTES);
});

test('scenes come only with the pages that draw panels', () => {
  for (const page of [
    'health/HealthPage',
    'runbooks/RunbookPage',
    'metrics/MetricsPage',
    'jobs/JobsPage',
    'coverage/CoveragePage',
  ]) {
    expect([...loadedWith(path.join(__dirname, 'pages', `${page}.tsx`)).packages]).not.toContain('@grafana/scenes');
  }
});
