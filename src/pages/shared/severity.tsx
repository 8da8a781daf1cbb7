import { type IconName } from '@grafana/data';
import { Badge, type BadgeColor } from '@grafana/ui';
import React from 'react';

interface SeverityInfo {
  label: string;
  color: BadgeColor;
  /** Told apart by shape too, not by colour alone. */
  icon: IconName;
  meaning: string;
}

/** Severities as the backend orders them, the worst first. */
export const SEVERITIES = ['critical', 'warning', 'unknown', 'info', 'ok'] as const;

export type Severity = (typeof SEVERITIES)[number];

const INFO: Record<Severity, SeverityInfo> = {
  critical: { label: 'Critical', color: 'red', icon: 'exclamation-circle', meaning: 'Somebody has to act now' },
  warning: { label: 'Warning', color: 'orange', icon: 'exclamation-triangle', meaning: 'Somebody should look' },
  unknown: { label: 'Unknown', color: 'purple', icon: 'question-circle', meaning: 'Nothing is known of it; not OK' },
  info: { label: 'Info', color: 'blue', icon: 'info-circle', meaning: 'Worth knowing, nothing to do' },
  ok: { label: 'OK', color: 'green', icon: 'check', meaning: 'Nothing wrong was seen' },
};

/** How a severity is shown; one that a newer backend invents is shown by its name. */
export function severityInfo(severity: string): SeverityInfo {
  const info = (INFO as Partial<Record<string, SeverityInfo>>)[severity];
  return info ?? { label: severity || 'Unknown', color: 'purple', icon: 'question-circle', meaning: '' };
}

export function SeverityBadge({ severity }: { severity: string }) {
  const { label, color, icon } = severityInfo(severity);
  return <Badge text={label} color={color} icon={icon} />;
}
