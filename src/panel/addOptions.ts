import { FieldType, type PanelOptionsEditorBuilder } from '@grafana/data';

import { DEFAULTS, type FleetOptions } from './options';

/** The panel's options as the panel editor shows them. */
export function addOptions(builder: PanelOptionsEditorBuilder<FleetOptions>) {
  addColours(builder);
  addLayout(builder);
  builder
    .addTextInput({
      path: 'nodeVariable',
      name: 'Variable for nodes',
      description: 'A selection by dragging sets it. Empty for none.',
      category: ['Selection'],
      defaultValue: DEFAULTS.nodeVariable,
    })
    .addTextInput({
      path: 'gpuVariable',
      name: 'Variable for GPUs',
      description: 'A selection by dragging sets it to UUIDs. Empty for none.',
      category: ['Selection'],
      defaultValue: DEFAULTS.gpuVariable,
    });
}

function addColours(builder: PanelOptionsEditorBuilder<FleetOptions>) {
  builder
    .addRadio({
      path: 'colorBy',
      name: 'Colour by',
      category: ['Colours'],
      defaultValue: DEFAULTS.colorBy,
      settings: {
        options: [
          { value: 'auto', label: 'Auto', description: 'What the first query answers' },
          { value: 'value', label: 'Value' },
          { value: 'verdict', label: 'Verdict' },
        ],
      },
    })
    .addFieldNamePicker({
      path: 'valueField',
      name: 'Column of values',
      description: 'The first column of numbers unless chosen.',
      category: ['Colours'],
      defaultValue: DEFAULTS.valueField,
      settings: { filter: ({ type }) => type === FieldType.number },
      showIf: ({ colorBy }) => colorBy !== 'verdict',
    })
    .addFieldNamePicker({
      path: 'verdictField',
      name: 'Column of verdicts',
      description: 'severity, verdict or state unless chosen.',
      category: ['Colours'],
      defaultValue: DEFAULTS.verdictField,
      settings: { filter: ({ type }) => type === FieldType.string },
      showIf: ({ colorBy }) => colorBy !== 'value',
    })
    .addRadio({
      path: 'palette',
      name: 'Palette',
      description: 'Viridis and Cividis are read with every kind of colour vision.',
      category: ['Colours'],
      defaultValue: DEFAULTS.palette,
      settings: {
        options: [
          { value: 'viridis', label: 'Viridis' },
          { value: 'cividis', label: 'Cividis' },
          { value: 'field', label: 'Field', description: 'Thresholds, or the colour scheme below' },
        ],
      },
      showIf: ({ colorBy }) => colorBy !== 'verdict',
    })
    .addBooleanSwitch({ path: 'showLegend', name: 'Legend', category: ['Colours'], defaultValue: DEFAULTS.showLegend });
}

function addLayout(builder: PanelOptionsEditorBuilder<FleetOptions>) {
  builder
    .addSelect({
      path: 'groupBy',
      name: 'Group by',
      category: ['Layout'],
      defaultValue: DEFAULTS.groupBy,
      settings: {
        options: [
          { value: 'auto', label: 'Auto', description: 'Nodes of a small fleet, clusters of a large one' },
          { value: 'none', label: 'Nothing' },
          { value: 'cluster', label: 'Cluster' },
          { value: 'rack', label: 'Rack' },
          { value: 'node', label: 'Node' },
          { value: 'model', label: 'Model' },
          { value: 'job', label: 'Job' },
        ],
      },
    })
    .addBooleanSwitch({
      path: 'showLabels',
      name: "Groups' names",
      category: ['Layout'],
      defaultValue: DEFAULTS.showLabels,
    })
    .addBooleanSwitch({
      path: 'showMig',
      name: 'MIG instances',
      description: 'Within their GPU, where cells are large enough.',
      category: ['Layout'],
      defaultValue: DEFAULTS.showMig,
    })
    .addSliderInput({
      path: 'cellSize',
      name: 'Cell size',
      description: 'In pixels; 0 for as large as fits.',
      category: ['Layout'],
      defaultValue: DEFAULTS.cellSize,
      settings: { min: 0, max: 96, step: 1 },
    });
}
