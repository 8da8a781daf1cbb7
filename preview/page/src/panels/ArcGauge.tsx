import {
  type DisplayValue,
  type FieldConfig,
  formattedValueToString,
  getActiveThreshold,
  ThresholdsMode,
} from '@grafana/data';
import { useTheme2 } from '@grafana/ui';

interface Props {
  value: DisplayValue;
  config: FieldConfig;
  width: number;
  height: number;
}

/** Half the opening at the bottom of the dial, in radians. */
const opening = Math.PI / 3;

/**
 * A round gauge. Grafana's own draws with a jQuery plugin that is in none of its packages.
 */
export function ArcGauge({ value, config, width, height }: Props) {
  const theme = useTheme2();
  const { thresholds } = config;
  const min = config.min ?? 0;
  const max = config.max ?? 100;
  const titleHeight = value.title ? Math.min(20, height / 5) : 0;
  const radius = Math.min(width / 2, (height - titleHeight) / (1 + Math.cos(opening))) - 4;
  if (radius < 8) {
    return null;
  }
  const at = (v: number) => Math.min(1, Math.max(0, (v - min) / (max - min || 1)));
  const steps = (thresholds?.steps ?? []).map((step) => ({
    color: theme.visualization.getColorByName(step.color),
    from:
      step.value === -Infinity || step.value == null
        ? 0
        : thresholds?.mode === ThresholdsMode.Percentage
          ? step.value / 100
          : at(step.value),
  }));
  const color =
    value.color ?? theme.visualization.getColorByName(getActiveThreshold(value.numeric, thresholds?.steps).color);
  const [inner, outer] = [radius * 0.82, radius * 0.97];
  const text = formattedValueToString(value);
  return (
    <svg width={width} height={height} role="img" aria-label={`${value.title ?? ''} ${text}`.trim()}>
      <g transform={`translate(${width / 2} ${radius + 4})`} fill="none">
        <path d={arc(inner, 0, 1)} stroke={theme.colors.background.secondary} strokeWidth={radius * 0.22} />
        {!Number.isNaN(value.numeric) && (
          <path d={arc(inner, 0, at(value.numeric))} stroke={color} strokeWidth={radius * 0.22} />
        )}
        {steps.map(({ from, color: stroke }, i) => (
          <path key={i} d={arc(outer, from, steps[i + 1]?.from ?? 1)} stroke={stroke} strokeWidth={radius * 0.05} />
        ))}
      </g>
      <g textAnchor="middle" fontFamily={theme.typography.fontFamily}>
        <text
          x={width / 2}
          y={radius + 4}
          dy="0.4em"
          fontSize={Math.min(radius * 0.45, (inner * 2.6) / text.length)}
          fontWeight={500}
          fill={color}
        >
          {text}
        </text>
        {value.title && (
          <text
            x={width / 2}
            y={height - 6}
            fontSize={Math.min(14, (width * 1.7) / value.title.length)}
            fill={theme.colors.text.primary}
          >
            {value.title}
          </text>
        )}
      </g>
    </svg>
  );
}

/** The path of a part of the dial, which goes from 0 at the lower left clockwise to 1. */
function arc(radius: number, from: number, to: number): string {
  const angle = (part: number) => Math.PI / 2 + opening + part * (2 * Math.PI - 2 * opening);
  const point = (part: number) => `${radius * Math.cos(angle(part))} ${radius * Math.sin(angle(part))}`;
  const large = angle(to) - angle(from) > Math.PI ? 1 : 0;
  return `M ${point(from)} A ${radius} ${radius} 0 ${large} 1 ${point(to)}`;
}
