import { parseVariableQuery } from './parseVariableQuery';

describe('the shorthand', () => {
  test.each([
    ['clusters', { kind: 'cluster' }],
    ['clusters()', { kind: 'cluster' }],
    ['nodes(cluster=$cluster)', { kind: 'node', clusters: ['$cluster'] }],
    [' GPUs( cluster = ${cluster} , node=$node ) ', { kind: 'gpu', clusters: ['${cluster}'], nodes: ['$node'] }],
    ['gpu(node="a, b", node=c)', { kind: 'gpu', nodes: ['a, b', 'c'] }],
    ['nodes(cluster="say \\"north\\"")', { kind: 'node', clusters: ['say "north"'] }],
    ['migs(gpu=$gpu)', { kind: 'mig', gpus: ['$gpu'] }],
    ['nodes(cluster=/north-.*/)', { kind: 'node', clusters: ['/north-.*/'] }],
    ['pods(namespace=~"$namespace", job=train)', { kind: 'pod', namespaces: ['$namespace'], jobs: ['train'] }],
    ['profiles(model =~ /H.00/)', { kind: 'profile', models: ['/H.00/'] }],
    ['clusters(pod=a)', { kind: 'cluster', pods: ['a'] }],
    ['jobs', { kind: 'job' }],
    ['namespace()', { kind: 'namespace' }],
    ['models(cluster=${cluster:csv})', { kind: 'model', clusters: ['${cluster:csv}'] }],
  ])('reads %j', (text, expected) => {
    const { refId, ...query } = parseVariableQuery(text);
    expect(refId).toBe('variable');
    expect(query).toEqual(expected);
  });

  test.each([
    [
      'label_values(node)',
      /lists nothing: write clusters, nodes, gpus, migs, models, profiles, namespaces, pods, jobs,/,
    ],
    ['nodes(', /lists nothing/],
    ['nodes($cluster)', /“\$cluster” in “nodes\(\$cluster\)” is not name=value/],
    ['nodes(cluster=a b)', /is not name=value.*double quotes/],
    ['nodes(rack=a)', /“rack” narrows nothing: write one of cluster, node, gpu, model, namespace, pod, job\./],
    ['nodes(mig=a)', /“mig” narrows nothing/],
  ])('refuses %j and says what is accepted', (text, message) => {
    expect(() => parseVariableQuery(text)).toThrow(message);
  });
});

describe('a stored query', () => {
  test.each([[''], [undefined], [null], [{ refId: 'A', kind: 'unheard-of' }], [{ metric: 'gpu_power_watts' }]])(
    'of nothing usable (%j) lists nodes',
    (stored) => {
      expect(parseVariableQuery(stored)).toMatchObject({ kind: 'node' });
    }
  );

  test('of the editor is taken as it is', () => {
    const stored = { refId: 'v', kind: 'mig', gpus: ['$gpu'] };
    expect(parseVariableQuery(stored)).toEqual(stored);
  });

  test('may wrap the shorthand, as Grafana does', () => {
    expect(parseVariableQuery({ refId: 'v', query: 'gpus(node=$node)' })).toMatchObject({
      kind: 'gpu',
      nodes: ['$node'],
    });
  });
});
