import { type PanelProps } from '@grafana/data';
import { locationService } from '@grafana/runtime';
import { useTheme2 } from '@grafana/ui';
import React, { useCallback, useMemo, useState } from 'react';

import { Colouring } from './colour/Colouring';
import { describe, type Known, linksOf, valueText, verdictText } from './describe';
import { pagesOf } from './drilldown';
import { groupFleet } from './layout/groups';
import { migrateOptions } from './migrate';
import { type FleetOptions } from './options';
import { CellList } from './ui/CellList';
import { FleetMap } from './ui/FleetMap';
import { Legend, legendHeightOf } from './ui/Legend';
import { noticesOf, type Trouble, troubleOf, TroubleView } from './ui/Trouble';
import { useKnown } from './useKnown';
import { selectionOf } from './variables';

/** Every GPU and MIG instance of a fleet as a cell of a map. */
export function FleetPanel(props: PanelProps<FleetOptions>) {
  const { data, width, height } = props;
  const options = useMemo(() => migrateOptions(props.options), [props.options]);
  const known = useKnown(data, options);
  const trouble = troubleOf(data, known.fleet.count) ?? nothingToShow(known);
  if (trouble) {
    return (
      <div style={{ width, height }}>
        <TroubleView trouble={trouble} />
      </div>
    );
  }
  return <Fleet {...props} options={options} known={known} />;
}

function nothingToShow({ values, verdicts }: Known): Trouble | undefined {
  if (values.field || verdicts) {
    return undefined;
  }
  const texts = [
    'The data has neither a column of numbers nor one of verdicts. Choose another query, or the columns in the options.',
  ];
  return { kind: 'empty', title: 'Nothing to colour GPUs by', texts };
}

function Fleet({ options, known, width, height, replaceVariables, data }: PanelProps<FleetOptions> & { known: Known }) {
  const { fleet } = known;
  const [table, setTable] = useState(false);
  const groups = useMemo(() => groupFleet(fleet, options.groupBy), [fleet, options.groupBy]);
  const theme = useTheme2();
  const [colouring] = useState(() => new Colouring());
  const { colours, legend, title, by } = useMemo(
    () => colouring.colour(known, options, theme),
    [colouring, known, options, theme]
  );
  const room = options.showLegend ? height - legendHeightOf(width) : height;
  const summary = summaryOf(known, noticesOf(data.series).length);

  const isVariable = useCallback(
    (name: string) => replaceVariables(`\${${name}}`) !== `\${${name}}`,
    [replaceVariables]
  );
  const onSelect = (gpus: number[]) => {
    const { variables, text } = selectionOf(fleet, gpus, options, isVariable);
    if (Object.keys(variables).length > 0) {
      locationService.partial(variables);
    }
    return text;
  };
  /** The data's own links, in place of the app's pages. */
  const linksOrPages = (cell: number) => {
    const links = linksOf(known, cell);
    return links.length > 0 ? links : pagesOf(fleet, cell, data);
  };
  const textOf = useCallback(
    (cell: number) => (by === 'verdict' ? verdictText(known, cell) : valueText(known, cell)),
    [by, known]
  );

  return (
    <div style={{ width, height }}>
      {table ? (
        <CellList
          known={known}
          groups={groups}
          colours={colours}
          showMig={options.showMig}
          title={title}
          height={room}
        />
      ) : (
        <FleetMap
          fleet={fleet}
          groups={groups}
          colours={colours}
          options={options}
          width={width}
          height={room}
          label={`${title}: ${summary}`}
          describe={(cell) => describe(known, cell)}
          textOf={textOf}
          linksOf={linksOrPages}
          onSelect={onSelect}
        />
      )}
      {options.showLegend && (
        <Legend entries={legend} title={title} summary={summary} width={width} table={table} onTable={setTable} />
      )}
    </div>
  );
}

function summaryOf({ fleet }: Known, notices: number): string {
  const instances = fleet.slices.length;
  const gpus = fleet.count - instances;
  const parts = [`${gpus.toLocaleString('en')} ${gpus === 1 ? 'GPU' : 'GPUs'}`];
  if (instances > 0) {
    parts.push(`${instances.toLocaleString('en')} MIG ${instances === 1 ? 'instance' : 'instances'}`);
  }
  if (notices > 0) {
    parts.push('incomplete: see the notice');
  }
  return parts.join(', ');
}
