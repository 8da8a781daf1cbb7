import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { useStyles2 } from '@grafana/ui';
import React from 'react';

import { cssOf, type Pixel } from '../colour/palettes';
import { ABSENT } from '../colour/scale';

/** A cell's colour; hatched where there is no value, as on the map. */
export function Swatch({ colour }: { colour: Pixel }) {
  const styles = useStyles2(getStyles);
  return colour === ABSENT ? (
    <span className={`${styles.box} ${styles.absent}`} aria-hidden="true" />
  ) : (
    <span className={styles.box} style={{ backgroundColor: cssOf(colour) }} aria-hidden="true" />
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  box: css({ display: 'inline-block', flexShrink: 0, width: 12, height: 12, borderRadius: 2 }),
  absent: css({
    border: `1px solid ${theme.colors.text.disabled}`,
    backgroundImage: `repeating-linear-gradient(-45deg, ${theme.colors.text.disabled} 0 1px, transparent 1px 4px)`,
  }),
});
