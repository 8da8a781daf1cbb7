import { type PrometheusClient } from '@prometheus-io/codemirror-promql';

import { type CoverageRow } from '../../types';

/** What completion asks of the data source. */
export interface Resources {
  coverage(scope: object): Promise<{ rows: CoverageRow[] }>;
  getTagValues(options: { key: string; filters: [] }): Promise<Array<{ text: string; value?: string | number }>>;
}

const OF_OWNER = ['namespace', 'pod', 'container'];
const OF_SCRAPE = ['job', 'instance'];

/** The labels of each exporter's series. */
const LABELS: Record<string, string[]> = {
  warpwatch: ['cluster', 'node', 'gpu', 'gpu_uuid', 'model', 'mig_id', 'mig_profile'],
  dcgm: ['Hostname', 'hostname', 'gpu', 'UUID', 'modelName', 'GPU_I_ID', 'GPU_I_PROFILE', 'pci_bus_id', ...OF_OWNER],
  nvidia_smi: ['uuid', 'node'],
};

const EVERY_LABEL = [...new Set([...Object.values(LABELS).flat(), ...OF_OWNER, ...OF_SCRAPE])];

const NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*/g;

interface Series {
  dialect: string;
  type: string;
  help: string;
}

/**
 * Answers Prometheus' completion from the data source's resources: the series that there are of GPUs, their exporters'
 * labels, and the values of those that name devices and owners. What cannot be had is empty, and asked for again the next
 * time: an expression can be written without any of it.
 */
export class ResourceClient implements PrometheusClient {
  private known: Promise<Map<string, Series>> | undefined;

  constructor(private readonly resources: Resources) {}

  async metricNames(): Promise<string[]> {
    return [...(await this.there()).keys()];
  }

  async metricMetadata(): Promise<Record<string, Array<{ type: string; help: string }>>> {
    return Object.fromEntries([...(await this.there())].map(([name, { type, help }]) => [name, [{ type, help }]]));
  }

  async labelNames(metricName?: string): Promise<string[]> {
    const dialect = metricName && (await this.there()).get(metricName)?.dialect;
    const labels = dialect ? LABELS[dialect] : undefined;
    return labels ? [...labels, ...OF_SCRAPE] : EVERY_LABEL;
  }

  async labelValues(labelName: string): Promise<string[]> {
    try {
      const values = await this.resources.getTagValues({ key: labelName, filters: [] });
      return values.map(({ text, value }) => String(value ?? text));
    } catch {
      return [];
    }
  }

  async series(): Promise<Array<Map<string, string>>> {
    return [];
  }

  async flags(): Promise<Record<string, string>> {
    return {};
  }

  private async there(): Promise<Map<string, Series>> {
    this.known ??= this.resources.coverage({}).then(({ rows }) => seriesOf(rows));
    try {
      return await this.known;
    } catch {
      this.known = undefined;
      return new Map();
    }
  }
}

function seriesOf(rows: CoverageRow[]): Map<string, Series> {
  const series = new Map<string, Series>();
  for (const { dialect, series: names, type, help } of rows) {
    for (const [name] of names.matchAll(NAME)) {
      series.set(name, { dialect, type, help });
    }
  }
  return series;
}
