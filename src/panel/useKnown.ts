import { type PanelData } from '@grafana/data';
import { useTheme2 } from '@grafana/ui';
import { useMemo, useState } from 'react';

import { type Known } from './describe';
import { FleetReader } from './FleetReader';
import { type FleetOptions } from './options';

/** What the panel's data says of each cell. */
export function useKnown(data: PanelData, options: FleetOptions): Known {
  const { series, state, timeRange } = data;
  const { valueField, verdictField } = options;
  const theme = useTheme2();
  const [reader] = useState(() => new FleetReader());
  return useMemo(
    () => reader.read({ series, state, timeRange }, { valueField, verdictField }, theme),
    [reader, series, state, timeRange, theme, valueField, verdictField]
  );
}
