import { explorePath, fromSegment, gpuPath, keeping, nodePath, runbookPath } from './paths';

test('places have addresses that can be read back', () => {
  expect(nodePath('north', 'a/b c')).toBe('/a/warpwatch-gpu-app/fleet/nodes/north/a%2Fb%20c');
  expect(gpuPath({ cluster: '', node: 'n', gpu: 'GPU-1', mig: '7' })).toBe(
    '/a/warpwatch-gpu-app/fleet/nodes/-/n/gpus/GPU-1/mig/7'
  );
  expect(fromSegment('-')).toBe('');
  expect(fromSegment(undefined)).toBe('');
  expect(runbookPath('xid-79')).toBe('/a/warpwatch-gpu-app/runbooks/xid-79');
});

test('a link keeps data source and time, and nothing else', () => {
  const search = new URLSearchParams('ds=gpu&from=now-1h&to=now&severity=ok&cluster=north');
  expect(keeping('/a', search)).toBe('/a?ds=gpu&from=now-1h&to=now');
  expect(keeping('/a', new URLSearchParams())).toBe('/a');
});

test('Explore gets the queries, their data source and the range', () => {
  const path = explorePath('gpu', [{ refId: 'A', queryType: 'health' }], { from: 'now-1h', to: 'now' });
  const panes = JSON.parse(new URLSearchParams(path.split('?')[1]).get('panes') ?? '');
  expect(panes.gpu).toEqual({
    datasource: 'gpu',
    queries: [{ refId: 'A', queryType: 'health', datasource: { type: 'warpwatch-gpu-datasource', uid: 'gpu' } }],
    range: { from: 'now-1h', to: 'now' },
  });
});
