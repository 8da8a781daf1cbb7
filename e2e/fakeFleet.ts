import { datasourceUid } from './fleet';

/** A fleet of servers of eight GPUs. */
export interface FakeFleet {
  gpus: number;
  /** Every so many GPUs have no value; 0 for none. */
  absentEach: number;
  /** Every so many GPUs are split into three MIG instances; 0 for none. */
  migEach: number;
  /** Whether the answer has data links; it has unless told otherwise. */
  links?: boolean;
}

type Row = [
  cluster: string,
  node: string,
  gpu: string,
  uuid: string,
  mig: string,
  profile: string,
  value: number | null,
];

const every = (i: number, each: number) => each > 0 && i % each === 0;

/** A wave over the fleet, the same in every run. */
const valueOf = (i: number) => (Math.sin(i / 9) + 1) / 2;

function rowsOf({ gpus, absentEach, migEach }: FakeFleet): Row[] {
  return Array.from({ length: gpus }, (_, i): Row[] => {
    const node = Math.floor(i / 8);
    const row = (mig: string, profile: string, value: number | null): Row => [
      `cluster-${Math.floor(node / 2500)}`,
      `node-${node}`,
      String(i % 8),
      `GPU-${i}`,
      mig,
      profile,
      value,
    ];
    const value = every(i + 1, absentEach) ? null : valueOf(i);
    return every(i, migEach)
      ? [
          row('', '', value),
          row('1', '3g.40gb', valueOf(i + 5)),
          row('2', '2g.20gb', valueOf(i + 20)),
          row('3', '1g.10gb', null),
        ]
      : [row('', '', value)];
  }).flat();
}

/** The answer of a query with the format "matrix". */
export function matrixFrame(fleet: FakeFleet) {
  const rows = rowsOf(fleet);
  const names = ['cluster', 'node', 'gpu', 'gpu_uuid', 'mig_id', 'mig_profile'];
  const own = [{ title: 'Open the node', url: '/d/node?var-node=${__data.fields.node}' }];
  const links = fleet.links === false ? [] : own;
  return {
    schema: {
      refId: 'A',
      meta: { type: 'numeric-long' },
      fields: [
        ...names.map((name) => ({ name, type: 'string' })),
        { name: 'gpu_sm_active_ratio', type: 'number', config: { unit: 'percentunit', links } },
      ],
    },
    data: { values: Array.from({ length: 7 }, (_, column) => rows.map((row) => row[column])) },
  };
}

/** A dashboard of one fleet panel. */
export function fleetDashboard(uid: string, { gpus }: FakeFleet) {
  const variable = (name: string) => ({
    type: 'custom',
    name,
    query: 'node-0,node-1',
    multi: true,
    includeAll: true,
    current: { text: ['All'], value: ['$__all'] },
  });
  return {
    meta: {},
    dashboard: {
      uid,
      title: `Fleet of ${gpus}`,
      time: { from: 'now-5m', to: 'now' },
      templating: { list: [variable('node')] },
      panels: [
        {
          id: 1,
          type: 'warpwatch-fleet-panel',
          title: 'SM active',
          gridPos: { x: 0, y: 0, w: 24, h: 18 },
          datasource: { type: 'warpwatch-gpu-datasource', uid: datasourceUid },
          targets: [{ refId: 'A', queryType: 'metric', metric: 'gpu_sm_active_ratio', format: 'matrix', live: false }],
          options: {},
          fieldConfig: { defaults: {}, overrides: [] },
        },
      ],
    },
  };
}
