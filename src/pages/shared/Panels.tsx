import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { config } from '@grafana/runtime';
import {
  EmbeddedScene,
  SceneFlexItem,
  SceneFlexLayout,
  SceneQueryRunner,
  SceneTimeRange,
  VizPanel,
} from '@grafana/scenes';
import { LinkButton, useStyles2 } from '@grafana/ui';
import React, { useEffect, useMemo } from 'react';

import { type GpuQuery } from '../../datasource/types';
import { DATA_SOURCE_ID } from '../../shared/ids';
import { type RawRange, rangeOf } from './ask';
import { explorePath } from './paths';

/** A panel of Grafana or of ours, as a page shows it. */
export interface PanelSpec {
  title: string;
  description?: string;
  /** The id of the panel plugin. */
  plugin: string;
  query: GpuQuery;
  options?: Record<string, unknown>;
  fieldConfig?: { defaults: Record<string, unknown>; overrides: [] };
  /** As wide as the page. */
  wide?: boolean;
  height?: number;
}

interface Props {
  uid: string;
  panels: PanelSpec[];
  range: RawRange;
  /** Grows when the panels are to ask again; what streams goes on by itself. */
  tick: number;
}

const HEIGHT = 220;
const MIN_WIDTH = 380;
const NO_FIELD_CONFIG: NonNullable<PanelSpec['fieldConfig']> = { defaults: {}, overrides: [] };

/** Whether Grafana has a panel plugin. Ours comes with the app and may be turned off. */
export function hasPanel(id: string): boolean {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- what replaces it is not in Grafana 12.3
  return Boolean(config.panels?.[id]);
}

/** Panels side by side, with the stream where the range ends now, and the way to Explore for each. */
export function Panels({ uid, panels, range, tick }: Props) {
  // By value: pages describe their panels anew on every render.
  const described = JSON.stringify(panels);
  const { from, to } = range;
  const scene = useMemo(
    () => sceneOf(uid, JSON.parse(described) as PanelSpec[], { from, to }),
    [uid, described, from, to]
  );
  const styles = useStyles2(getStyles);
  useEffect(() => {
    if (tick > 0) {
      scene.state.$timeRange?.onRefresh();
    }
  }, [scene, tick]);
  return (
    <div className={styles.panels}>
      <scene.Component model={scene} />
    </div>
  );
}

function sceneOf(uid: string, panels: PanelSpec[], range: RawRange): EmbeddedScene {
  return new EmbeddedScene({
    $timeRange: new SceneTimeRange(sceneRange(range)),
    body: new SceneFlexLayout({
      direction: 'row',
      wrap: 'wrap',
      children: panels.map((panel) => itemOf(uid, panel, range)),
    }),
  });
}

/** Scenes read moments in ISO 8601. */
function sceneRange(range: RawRange): RawRange {
  const absolute = (text: string, at: { toISOString: () => string }) => (/^\d+$/.test(text) ? at.toISOString() : text);
  const { from, to } = rangeOf(range);
  return { from: absolute(range.from, from), to: absolute(range.to, to) };
}

function itemOf(uid: string, panel: PanelSpec, range: RawRange): SceneFlexItem {
  const { title, description, plugin, query, options = {}, fieldConfig = NO_FIELD_CONFIG, wide, height } = panel;
  return new SceneFlexItem({
    minWidth: wide ? '100%' : MIN_WIDTH,
    height: height ?? HEIGHT,
    body: new VizPanel({
      title,
      description,
      pluginId: plugin,
      options,
      fieldConfig,
      $data: new SceneQueryRunner({ datasource: { uid, type: DATA_SOURCE_ID }, queries: [query] }),
      headerActions: (
        <LinkButton
          size="sm"
          variant="secondary"
          fill="text"
          icon="compass"
          aria-label={`Explore ${title}`}
          tooltip="Explore"
          href={explorePath(uid, [query], range)}
        />
      ),
    }),
  });
}

const getStyles = (theme: GrafanaTheme2) => ({
  panels: css({ marginBottom: theme.spacing(2), '& > div': { padding: 0 } }),
});
