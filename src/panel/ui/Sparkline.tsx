import React from 'react';

import { type Sample } from '../fleet/Recent';

const WIDTH = 200;
const HEIGHT = 32;

/** The last values as a line, with gaps where there were none. */
export function Sparkline({ samples, color }: { samples: Sample[]; color: string }) {
  const path = pathOf(samples);
  if (path === '') {
    return null;
  }
  return (
    <svg width={WIDTH} height={HEIGHT} role="img" aria-label={`The last ${samples.length} values`}>
      <path d={path} fill="none" stroke={color} strokeWidth={1.5} strokeLinejoin="round" strokeLinecap="round" />
    </svg>
  );
}

function pathOf(samples: Sample[]): string {
  const known = samples.filter(({ value }) => Number.isFinite(value));
  if (known.length < 2) {
    return '';
  }
  const [from, to] = [known[0].at, known[known.length - 1].at];
  const least = Math.min(...known.map(({ value }) => value));
  const most = Math.max(...known.map(({ value }) => value));
  let drawing = false;
  return samples
    .map(({ at, value }) => {
      if (!Number.isFinite(value)) {
        drawing = false;
        return '';
      }
      const x = ((at - from) / Math.max(1, to - from)) * (WIDTH - 4) + 2;
      const y = HEIGHT - 3 - (most > least ? (value - least) / (most - least) : 0.5) * (HEIGHT - 6);
      const command = drawing ? 'L' : 'M';
      drawing = true;
      return `${command}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join('');
}
