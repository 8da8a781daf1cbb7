// force timezone to UTC to allow tests to work regardless of local timezone
// generally used by snapshots, but can affect specific tests
process.env.TZ = 'UTC';

const base = require('./.config/jest.config');
const { grafanaESModules, nodeModulesToTransform } = require('./.config/jest/utils');

const [swc] = Object.values(base.transform);

module.exports = {
  // Jest configuration provided by Grafana scaffolding
  ...base,
  roots: ['<rootDir>/src', '<rootDir>/preview/page/src'],
  testMatch: [...base.testMatch, '<rootDir>/preview/page/src/**/*.test.ts'],
  // Editors are rendered whole and operated by keyboard and mouse, which takes its time on a busy machine.
  testTimeout: 30_000,
  // Some of Grafana's dependencies come as ES modules only, and some of those as .mjs, which the scaffold leaves alone.
  transform: { ...base.transform, '^.+\\.mjs$': swc },
  transformIgnorePatterns: [
    nodeModulesToTransform([...grafanaESModules, 'd3-[a-z-]+', 'internmap', 'delaunator', 'robust-predicates']),
  ],
};
