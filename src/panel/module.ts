import { FieldColorModeId, FieldConfigProperty, PanelPlugin } from '@grafana/data';

import { addOptions } from './addOptions';
import { FleetPanel } from './FleetPanel';
import { migrateOptions } from './migrate';
import { type FleetOptions } from './options';
import { suggestions } from './suggestions';

// Nothing here may be loaded lazily: Grafana looks for a nested plugin's chunks in the wrong folder.
export const plugin = new PanelPlugin<FleetOptions>(FleetPanel)
  .useFieldConfig({
    standardOptions: {
      [FieldConfigProperty.Color]: {
        defaultValue: { mode: FieldColorModeId.Thresholds },
        settings: { byValueSupport: true, bySeriesSupport: false, preferThresholdsMode: true },
      },
    },
  })
  .setPanelOptions(addOptions)
  .setMigrationHandler(({ options }) => migrateOptions(options))
  .setSuggestionsSupplier(suggestions);
