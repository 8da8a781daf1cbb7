import { type DataFrame, type GrafanaTheme2, LoadingState, type PanelData } from '@grafana/data';

import { type Known } from './describe';
import { type Fleet } from './fleet/Fleet';
import { readFleet, sameNames } from './fleet/readFleet';
import { readValues } from './fleet/readValues';
import { readVerdicts } from './fleet/readVerdicts';
import { Recent } from './fleet/Recent';
import { type FleetOptions } from './options';

/** Reads one panel's data again and again. While only values change, the fleet stays the same object. */
export class FleetReader {
  private last: { frames: DataFrame[]; fleet: Fleet; recent: Recent; at: number } | undefined;

  constructor(private readonly clock: () => number = Date.now) {}

  read(
    { series, state, timeRange }: Pick<PanelData, 'series' | 'state' | 'timeRange'>,
    { valueField, verdictField }: Pick<FleetOptions, 'valueField' | 'verdictField'>,
    theme: GrafanaTheme2
  ): Known {
    const fleet = this.last && sameNames(this.last.frames, series) ? this.last.fleet : readFleet(series);
    const values = readValues(series, fleet, valueField);
    if (this.last?.frames !== series) {
      const at = state === LoadingState.Streaming ? this.clock() : timeRange.to.valueOf();
      const recent = this.recentFor(fleet);
      recent.push(at, values.values);
      this.last = { frames: series, fleet, recent, at };
    }
    const { recent, at } = this.last;
    return { frames: series, fleet, values, verdicts: readVerdicts(series, fleet, theme, verdictField), recent, at };
  }

  private recentFor(fleet: Fleet): Recent {
    if (!this.last) {
      return new Recent(fleet);
    }
    return this.last.fleet === fleet ? this.last.recent : this.last.recent.movedTo(fleet);
  }
}
