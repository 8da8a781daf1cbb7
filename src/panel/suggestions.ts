import { type DataFrame, FieldType, type PanelDataSummary, type VisualizationSuggestionsSupplier } from '@grafana/data';

import { PANEL_ID } from '../shared/ids';
import { type FleetOptions } from './options';

const SUGGESTION = {
  name: 'GPU fleet',
  description: 'Every GPU as a cell of a map',
};

/** Whether frames name GPUs: tables by their columns, time series by their labels. */
export function namesGpus(frames: readonly DataFrame[]): boolean {
  return frames.some(({ fields }) =>
    fields.some(
      ({ name, type, labels }) =>
        (name === 'gpu_uuid' && type === FieldType.string) ||
        Boolean(labels?.gpu_uuid) ||
        (Boolean(labels?.gpu) && Boolean(labels?.node))
    )
  );
}

/** What Grafana 12.3 hands to suppliers; its newer versions call them as functions. */
interface Builder {
  data?: { series?: DataFrame[] };
  getListAppender(defaults: typeof SUGGESTION & { pluginId: string }): { append(suggestion: {}): void };
}

/** Suggests the panel for frames that name GPUs. */
export const suggestions: VisualizationSuggestionsSupplier<FleetOptions> = Object.assign(
  ({ rawFrames }: Pick<PanelDataSummary, 'rawFrames'>) => (namesGpus(rawFrames ?? []) ? [SUGGESTION] : undefined),
  {
    getSuggestionsForData: (builder: Builder) => {
      if (namesGpus(builder.data?.series ?? [])) {
        builder.getListAppender({ ...SUGGESTION, pluginId: PANEL_ID }).append({});
      }
    },
  }
);
